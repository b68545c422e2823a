"""Equalized odds on COMPAS, with both error rates of each group; pip install "fermi-fair"."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fermi

# Label 1 is a new charge within two years. A false positive is a person held for nothing, a false negative a person
# released who offends again: both kinds of mistakes hurt, so both rates should be alike.


def main(bound: float = 0.1) -> tuple[fermi.Audit, fermi.Audit]:
    """Audit labels without and within the bound, on the test rows."""
    data = fermi.datasets.load("compas", races="two", include_sensitive=False).numeric()
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    model = fermi.FairLabels(plain, "equalized_odds", max_violation=bound, random_state=0)
    model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    audits = []
    for title, chosen in {"as it is": model.at(1.0), f"within {bound:g}": model}.items():
        labels = chosen.predict(data.X_test)
        found = fermi.audit(data.y_test, labels, sensitive_features=data.s_test, notion="equalized_odds")
        gap = found.record.measure("parity_difference")
        print(
            f"{title}: error {(labels != data.y_test).mean():.3f}, gap {gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]"
        )
        print(found.frame[["rows", "error", "tpr_1", "fpr_1"]].round(3).to_string(), "\n")
        audits.append(found)
    return audits[0], audits[1]


if __name__ == "__main__":
    main()
