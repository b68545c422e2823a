"""A bound on the Adult data set, a linear model beside boosted trees; pip install "fermi-fair[boosting]"."""

import fermi
from fermi.boosting import FermiBoostingClassifier


def main(bound: float = 0.03) -> dict[str, tuple[float, float]]:
    """Train with and without the bound; return error and gap of each model on the test rows."""
    table = fermi.datasets.load("adult", include_sensitive=False)  # sex is known in training, and is no feature
    numbers = table.numeric()  # categories as 0/1 columns, for the linear model
    models = {
        "linear, plain": (fermi.FermiClassifier(lam=0), numbers),
        "linear, within the bound": (fermi.FermiClassifier(max_violation=bound, random_state=0), numbers),
        "trees, plain": (FermiBoostingClassifier(lam=0, n_estimators=100, random_state=0), table),
        "trees, λ = 10": (FermiBoostingClassifier(lam=10, n_estimators=100, random_state=0), table),
    }
    found = {}
    for name, (model, data) in models.items():
        model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        labels = model.predict(data.X_test)
        found[name] = float((labels != data.y_test).mean()), fermi.parity_difference(labels, data.s_test)
        print(f"{name:26s} error {found[name][0]:.3f}, gap {found[name][1]:.3f}")
    return found


if __name__ == "__main__":
    main()
