"""Somebody else's scores: audit them, then choose fair labels without their model; pip install "fermi-fair"."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import fermi


def main(bound: float = 0.03) -> tuple[float, float]:
    """Return the gap of the vendor's labels and of labels within the bound, on people who came later."""
    data = fermi.datasets.load("adult", include_sensitive=False).numeric()
    then = np.arange(len(data.X_train)) % 2 == 0
    vendor = RandomForestClassifier(50, min_samples_leaf=20, random_state=0)  # all that we get of it is its scores
    vendor.fit(data.X_train[then], data.y_train[then])

    labels = vendor.predict(data.X_test)
    found = fermi.audit(data.y_test, labels, sensitive_features=data.s_test)
    print(found.frame[["rows", "rate_>50K", "error"]].round(3).to_string())

    # Rows that the vendor's model was not trained on decide which labels its scores get.
    ours = fermi.FairLabels(vendor, max_violation=bound, prefit=True, random_state=0)
    ours.fit(data.X_train[~then], data.y_train[~then], sensitive_features=data.s_train[~then])
    fair = ours.predict(data.X_test)
    gaps = []
    for name, answer in {"vendor's labels": labels, "labels within the bound": fair}.items():
        gaps.append(fermi.parity_difference(answer, data.s_test))
        print(f"{name}: error {(answer != data.y_test).mean():.3f}, gap {gaps[-1]:.3f}")
    return gaps[0], gaps[1]


if __name__ == "__main__":
    main()
