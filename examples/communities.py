"""Eighteen sensitive columns at once on Communities and crime; pip install "fermi-fair"."""

import fermi


def main(lam: float = 5.0) -> tuple[list[float], list[float]]:
    """Print and return the gap of each column for the plain and for the fair model, on the test rows."""
    data = fermi.datasets.load("communities", n_attributes=18, include_sensitive=False).numeric()
    # 18 yes/no columns have up to 262,144 combinations, far more than the 1,994 rows: one term for each column instead.
    gaps = []
    for strength in (0.0, lam):
        model = fermi.FermiClassifier(lam=strength, attributes="each")
        model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        labels = model.predict(data.X_test)
        gaps.append([fermi.parity_difference(labels, data.s_test[name]) for name in data.s_test])
        print(f"λ = {strength:g}: error {1 - model.score(data.X_test, data.y_test):.3f}, worst gap {max(gaps[-1]):.3f}")
    for name, plain, fair in zip(data.s_test, *gaps, strict=True):
        print(f"{name:24s} {plain:.3f} -> {fair:.3f}")
    return gaps[0], gaps[1]


if __name__ == "__main__":
    main()
