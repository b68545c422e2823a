"""`fermi audit`: how far somebody's predictions depend on the group."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from fermi._files import whole_file
from fermi.auditing import Audit
from fermi.cli._console import Console, printable
from fermi.cli._flags import in_options
from fermi.cli._same import refuse_same_file
from fermi.cli._summaries import audit_summary, group_summary, more_of_group, show_conditions
from fermi.cli._verdicts import require, verdict_summary
from fermi.engines import Engine
from fermi.errors import FermiError
from fermi.fitting.progress import Progress
from fermi.tables.audited import audit_file, judged_words
from fermi.tables.formats import write_table
from fermi.tables.question import Question

_OUTPUTS = (".html", ".json", ".csv")


def run(
    file: str,
    question: Question,
    *,
    files: Mapping[str, str | None],
    as_json: bool,
    required: bool = False,
    engine: str | Engine = "local",
) -> None:
    """Audit the predictions of a file; print the audit, and write it as a page, JSON or CSV."""
    written = check_outputs(files, [file])
    if required and not question.asked.anything:
        raise FermiError("--require is given without a bound; expected one as well, say --max-violation 0.1.")
    with Progress(not as_json) as progress:
        progress.say("auditing")
        found, notes = audit_file(file, question, engine)
    notes = [in_options(note) for note in notes]
    words = judged_words(found, question.asked)
    require(words.verdict, required=required)
    found = found.with_words(*words, facts=_facts(file, question), target=question.target or "")
    groups = [{**group_summary(g), **more_of_group(g)} for g in found.record.groups]
    document = {**verdict_summary(words, None), **audit_summary(found.record), "groups": groups}
    text = json.dumps({**document, "notes": [*notes, *found.record.notes]}, ensure_ascii=False, indent=2)
    for path in written:
        _write(found, text, path)
    if as_json:
        print(text)
        return
    for line in (*words.warnings, *([words.verdict.sentence] if words.verdict is not None else []), *words.summary):
        print("\n".join(textwrap.wrap(printable(line), _width())))
    print(found)
    show_conditions(found.record, Console())
    for note in notes:
        print("\n".join(textwrap.wrap(f"Note: {printable(note)}", _width())))
    for path in written:
        print(f"Written: {printable(str(path))}")


def check_outputs(files: Mapping[str, str | None], read: Sequence[str], kinds: Sequence[str] = _OUTPUTS) -> list[Path]:
    """The files that are to be written, whose suffixes say what they will be; refuses those that are read."""
    wanted = {"--html": (".html",), "--csv": (".csv",)}
    found = []
    for option, name in files.items():
        if name is None:
            continue
        allowed = wanted.get(option, tuple(kinds))
        if Path(name).suffix.lower() not in allowed:
            raise FermiError(f"{option} is {name!r}; expected a name that ends in one of {', '.join(allowed)}.")
        for file in read:
            refuse_same_file(name, file, option)
        found.append(Path(name))
    return found


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


def _write(found: Audit, text: str, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix == ".html":
        found.to_html(path)
    elif suffix == ".csv":
        write_table(found.frame.reset_index(), path)
    else:
        with whole_file(path) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
