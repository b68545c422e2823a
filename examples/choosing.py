"""A trade-off curve as sentences for a stakeholder, and the model they point at; pip install "fermi-fair"."""

import fermi

QUESTION = "If the shares of women and men who get the offer may differ by at most {:.0f} points:"
ANSWER = (
    "  {:.0f} of 1,000 decisions are wrong ({:+.0f} against the plain model), and the shares differ by {:.1f} points."
)


def main(agreed: float = 0.05) -> tuple[fermi.FermiClassifier, float]:
    """Print what each bound costs; return the model for the bound that was agreed on, and its gap on the test rows."""
    data = fermi.datasets.load("adult", include_sensitive=False).numeric()
    curve = fermi.tradeoff_curve(
        fermi.FermiClassifier(),
        data.X_train,
        data.y_train,
        sensitive_features=data.s_train,
        lams=[0, 0.3, 1, 2, 3, 5, 8],
        progress=False,
    )
    rows = curve.frame[curve.frame["split"] == "validation"]
    plain = rows["error"].iloc[0]
    for bound in (0.15, 0.1, 0.05, 0.03):
        within = rows[rows["violation"] <= bound]
        best = within.loc[within["error"].idxmin()]
        print(QUESTION.format(100 * bound))
        print(ANSWER.format(1000 * best["error"], 1000 * (best["error"] - plain), 100 * best["violation"]))
    model = curve.pick(max_violation=agreed)
    gap = fermi.parity_difference(model.predict(data.X_test), data.s_test)
    print(f"Agreed: {100 * agreed:.0f} points. On people who had no part in the choice it is {100 * gap:.1f} points.")
    return model, gap


if __name__ == "__main__":
    main()
