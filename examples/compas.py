"""Equalized odds on COMPAS, with the error rates of each group; pip install "fermi-fair"."""

import fermi

# Label 1 is a new charge within two years. A false positive is a person held for nothing, a false negative a person
# released who offends again: both kinds of mistakes hurt, so both rates should be alike.


def main(lam: float = 5.0) -> tuple[fermi.Audit, fermi.Audit]:
    """Audit the plain and the fair model under equalized odds, on the test rows."""
    data = fermi.datasets.load("compas", races="two", include_sensitive=False).numeric()
    notion = fermi.EqualizedOdds(weights="balanced")  # both true labels count alike in training
    audits = []
    for strength in (0.0, lam):
        model = fermi.FermiClassifier(notion, lam=strength)
        model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        labels = model.predict(data.X_test)
        found = fermi.audit(data.y_test, labels, sensitive_features=data.s_test, notion="equalized_odds")
        gap = found.record.measure("parity_difference")
        print(f"λ = {strength:g}: gap {gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]")
        print(found.frame[["size", "error", "tpr_1", "fpr_1"]].round(3).to_string(), "\n")
        audits.append(found)
    return audits[0], audits[1]


if __name__ == "__main__":
    main()
