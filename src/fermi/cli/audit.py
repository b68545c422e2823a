"""`fermi audit`: how far somebody's predictions depend on the group."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

from fermi._files import whole_file
from fermi.auditing import Audit
from fermi.cli._console import printable
from fermi.cli._same import refuse_same_file
from fermi.cli._summaries import audit_summary, group_summary
from fermi.cli._verdicts import require, verdict_summary
from fermi.engines import Engine
from fermi.errors import FermiError
from fermi.tables.audited import audit_file, judged_words
from fermi.tables.formats import write_table
from fermi.tables.question import Question

_OUTPUTS = (".html", ".json", ".csv")


def run(
    file: str,
    question: Question,
    *,
    output: str | None,
    as_json: bool,
    required: bool = False,
    engine: str | Engine = "local",
) -> None:
    """Audit the predictions of a file; print the audit, and write it as a page, JSON or CSV."""
    suffix = Path(output).suffix.lower() if output is not None else ""
    if output is not None and suffix not in _OUTPUTS:
        raise FermiError(f"--output is {output!r}; expected a name that ends in one of {', '.join(_OUTPUTS)}.")
    if output is not None:
        refuse_same_file(output, file)
    if required and not question.asked.anything:
        raise FermiError("--require is given without a bound; expected one as well, say --max-violation 0.1.")
    found, notes = audit_file(file, question, engine)
    words = judged_words(found, question.asked)
    require(words.verdict, required=required)
    found = found.with_words(*words, facts=_facts(file, question), target=question.target or "")
    groups = [group_summary(g) for g in found.record.groups]
    document = {**verdict_summary(words, None), **audit_summary(found.record), "groups": groups}
    text = json.dumps({**document, "notes": [*notes, *found.record.notes]}, ensure_ascii=False, indent=2)
    if output is not None:
        _write(found, text, Path(output), suffix)
    if as_json:
        print(text)
        return
    for line in (*words.warnings, *([words.verdict.sentence] if words.verdict is not None else []), *words.summary):
        print("\n".join(textwrap.wrap(printable(line), _width())))
    print(found)
    for note in notes:
        print(f"Note: {printable(note)}")
    if output is not None:
        print(f"Written: {printable(output)}")


def _facts(file: str, question: Question) -> dict[str, str]:
    """Where the audited predictions come from."""
    given = {
        "Target": question.target,
        "Prediction": question.prediction,
        "Probabilities": ", ".join(question.probability),
    }
    return {"Data": Path(file).name or file} | {name: value for name, value in given.items() if value}


def _width() -> int:
    return max(min(shutil.get_terminal_size((80, 24)).columns, 120), 40)


def _write(found: Audit, text: str, path: Path, suffix: str) -> None:
    if suffix == ".html":
        found.to_html(path)
    elif suffix == ".csv":
        write_table(found.frame.reset_index(), path)
    else:
        with whole_file(path) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
