"""`fermi predict`: labels and probabilities for the rows of a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fermi.cli._same import refuse_same_file
from fermi.errors import FermiError
from fermi.tables.formats import check_writable_format, read_raw, understood, write_table
from fermi.tables.model_folder import SavedModel


def run(folder: str, file: str, *, output: str | None, as_json: bool) -> None:
    """Add the columns `prediction` and `probability=...` to the rows of the file."""
    if output is not None:
        check_writable_format(output)
        refuse_same_file(output, file)
    model = SavedModel.load(folder)
    frame = read_raw(file)  # what is not predicted is written again as it was
    predicted, unseen = model.predict(understood(frame))
    taken = [name for name in predicted.columns if name in frame.columns]
    if taken:
        raise FermiError(f"The file has a column {taken[0]!r} already: rename it, so that nothing is lost.")
    result = frame.join(predicted)
    if output is not None:
        write_table(result, output)
    if as_json:
        labels = predicted["prediction"].astype(str).value_counts()
        found = {"rows": len(frame), "predictions": labels.to_dict(), "unseen": unseen}
        if output is None:
            found["labels"] = predicted["prediction"].tolist()
        print(json.dumps({**found, "output": output}, ensure_ascii=False, indent=2))
        return
    if unseen:
        counts = ", ".join(f"{count:,} of {name!r}" for name, count in unseen.items())
        kinds = "Values of a kind that training never saw (a new category, a missing number)"
        print(f"Note: {kinds} count as none, or as the mean: {counts}.", file=sys.stderr)
    if output is None:
        result.to_csv(sys.stdout, index=False)
    else:
        print(f"{len(frame):,} rows with predictions: {Path(output)}")
