"""The command as a user runs it: exit codes, one line on stderr, JSON for machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from fermi import baselines, ermi
from fermi.baselines.none import Unmitigated
from fermi.cli import main
from fermi.cli.bench import _ratios, load
from fermi.cli.demo import applicants
from fermi.errors import MissingExtraError
from fermi.notions import NAMES, OF_LABELS
from fermi.tables.formats import read_table
from fermi.tables.task import Task, prepare


def fermi(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fermi", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.slow
def test_demo_prints_the_price_and_where_the_report_is(tmp_path: Path) -> None:
    done = fermi("demo", "--output", str(tmp_path / "demo"))
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("gap: of labels", "made-up credit applicants", "The report, with the whole curve", "fermi train"):
        assert words in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout  # no colours in a pipe
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["applicants.csv", "report.html"]


@pytest.mark.slow
def test_demo_json_has_the_figures_of_models_trained_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--json", "--output", str(tmp_path / "demo")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["plain"]["lam"] == 0
    assert result["fair"]["validation"]["hard"]["parity_difference"]["value"] <= result["max_violation"]
    for model in (result["plain"], result["fair"]):
        gap = model["test"]["hard"]["parity_difference"]
        assert gap["low"] <= gap["value"] <= gap["high"]
    rows = prepare(read_table(result["data"]), Task("outcome", ("group",)))
    model = LogisticRegression(max_iter=1000).fit(rows.train.X, rows.train.y)
    error = (model.predict(rows.test.X) != rows.test.y).mean()
    assert result["plain"]["test"]["error"]["value"] == pytest.approx(error, abs=0.005)  # trained on three quarters
    found = ermi(model.predict_proba(rows.test.X), rows.test.s)
    assert result["plain"]["test"]["soft"]["ermi"]["value"] == pytest.approx(found, rel=0.1)


def test_another_seed_gives_another_sample() -> None:
    first, second, again = (applicants(seed) for seed in (1, 2, 1))
    assert first.equals(again)
    assert not first.equals(second)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "No such command 'frobnicate'."),
        (["demo", "--sed", "1"], "No such option: --sed"),
        (["demo", "--seed", "x"], "Invalid value for '--seed'"),
        (["demo", "--seed", "-1"], "--seed is -1; expected a whole number of at least 0."),
        (["bench", "nothing"], "`name` is 'nothing'; expected one of 'audit', 'baselines', "),
        (["bench", "measures", "--quick"], "The benchmark 'measures' takes no option --quick."),
        (["bench", "torch", "--dataset", "adult"], "The benchmark 'torch' takes no option --dataset."),
        (["bench", "baselines", "--dataset", "adlut"], "`name` is 'adlut'; expected one of 'adult', "),
        (["data", "fetch", "adlut"], "`name` is 'adlut'; expected one of 'adult', "),
        (["data", "fetch"], "Missing argument '"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "torch" in arguments:
        pytest.importorskip("torch", reason="the extra `torch` is not installed")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fermi: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize("command", ["train", "tradeoff", "audit"])
def test_help_names_every_notion(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help has a copy of the names: to read them would load numpy and numba before a word is printed."""
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in (*NAMES, *OF_LABELS))


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["data", "-h"], ["--version"]])
def test_help_is_a_success(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "fermi" in capsys.readouterr().out


def test_data_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FERMI_DATA", str(tmp_path))
    assert main(["data", "list", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert listing["data_home"] == str(tmp_path)
    assert [(d["name"], d["files"], d["files_here"]) for d in listing["datasets"]] == [
        ("adult", 2, 0),
        ("color_mnist", 4, 0),
        ("communities", 1, 0),
        ("compas", 1, 0),
        ("german", 1, 0),
        ("synthetic", 0, 0),
        ("toxic", 3, 0),
        ("toxic_madlibs", 1, 0),
    ]
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.test").touch()
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 2 here" in shown
    assert "0 of 4 here" in shown
    assert all(dataset["summary"].split()[0] in shown for dataset in listing["datasets"])


def test_data_fetch_prints_the_files(adult_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "adult"]) == 0
    printed = capsys.readouterr().out.split()
    assert main(["data", "fetch", "adult", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "adult", "files": printed}
    assert printed == [str(adult_home / "adult" / f"adult.{part}") for part in ("data", "test")]


def test_a_reader_that_leaves_early_is_no_error_message() -> None:
    command = f"{sys.executable} -m fermi data list --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_exit_code_1() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fermi", "data", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "fermi: [Errno 28] No space left on device\n"


def test_ctrl_c_is_one_line_and_exit_code_1() -> None:
    # The handler is set anew: a child of a background job inherits that Ctrl-C is ignored.
    script = "import signal, sys, time, fermi.cli.demo; from fermi import cli\n"
    script += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "def slow(*a, **k): print('started', flush=True); time.sleep(900)\n"
    script += "sys.modules['fermi.cli.demo'].run = slow; sys.exit(cli.main(['demo']))"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (1, "fermi: interrupted\n")


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of all zeros is Linux's")
def test_native_code_that_never_comes_back_is_ended_too(tmp_path: Path) -> None:
    """A mutex that is locked twice waits for ever and does not notice signals, like a parser that runs in a circle."""
    script = "import ctypes, sys, fermi.cli.demo; from fermi import cli; from fermi._files import whole_folder\n"
    script += "from fermi.cli import _ending; from pathlib import Path; _ending._GRACE = 0.3\n"
    script += "def stuck(*a, **k):\n"
    script += f"    with whole_folder(Path({str(tmp_path)!r}) / 'new', ['a']) as partial:\n"
    script += "        (partial / 'a').write_text('half'); print('started', flush=True)\n"
    script += "        lock, mutex = ctypes.CDLL(None).pthread_mutex_lock, ctypes.create_string_buffer(64)\n"
    script += "        lock(mutex); lock(mutex)\n"
    script += "sys.modules['fermi.cli.demo'].run = stuck; sys.exit(cli.main(['demo']))"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (1, "fermi: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_within_a_destructor_is_not_forgotten() -> None:
    script = "import signal, sys, time, fermi.cli.demo; from fermi import cli\n"
    script += "class Closing:\n    def __del__(self): signal.raise_signal(signal.SIGTERM)\n"
    script += "def run(*a, **k): Closing(); time.sleep(60)\n"
    script += "sys.modules['fermi.cli.demo'].run = run; sys.exit(cli.main(['demo']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (1, "fermi: interrupted\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_that_is_ended_does_not_end_its_parent() -> None:
    script = "import os, signal, sys, time, fermi.cli.demo; from fermi import cli; from fermi.cli import _ending\n"
    script += "_ending._GRACE = 0.2\n"
    script += "def parent(*a, **k):\n"
    script += "    child = os.fork()\n"
    script += "    if not child: time.sleep(60); os._exit(0)\n"
    script += "    time.sleep(0.3); os.kill(child, signal.SIGTERM); os.waitpid(child, 0)\n"
    script += "    time.sleep(1.0); print('done')\n"
    script += "sys.modules['fermi.cli.demo'].run = parent; sys.exit(cli.main(['demo']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "done")


def test_a_benchmark_s_ratio_is_ours_over_the_peer_s() -> None:
    entries = [
        {"group": "g", "name": "test_x_peer", "stats": {"min": 2.0, "median": 4.0}, "extra_info": {"peer": "numpy"}},
        {"group": "g", "name": "test_x_fermi", "stats": {"min": 3.0, "median": 5.0}, "extra_info": {}},
    ]
    (case,) = _ratios(entries)
    assert (case["ratio"], case["median_ratio"], case["peer"]) == (1.5, 1.25, "numpy")


def test_a_benchmark_may_make_and_show_its_own_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "bench_toy.py").write_text(
        "def measure(): return [{'case': 'λ', 'excess': 0.25}]\ndef show(cases): print('a table of', len(cases))\n"
    )
    monkeypatch.setattr("fermi.cli.bench._folder", lambda: tmp_path)
    assert main(["bench", "toy"]) == 0
    assert capsys.readouterr().out == "a table of 1\n"
    kept = (tmp_path / "results" / "toy.json").read_text(encoding="utf-8")
    assert json.loads(kept)["cases"] == [{"case": "λ", "excess": 0.25}]
    assert main(["bench", "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cases"] == json.loads(kept)["cases"]


@pytest.mark.parametrize(
    ("text", "lacking"),
    [("import no_such_package\n\n\ndef measure(): ...\n", "no_such_package"), ("import pytest\n", "pytest_benchmark")],
)
def test_a_benchmark_without_its_packages_says_which_extra_brings_them(
    text: str,
    lacking: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "bench_toy.py").write_text(text)
    monkeypatch.setattr("fermi.cli.bench._folder", lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "pytest_benchmark", None)
    assert main(["bench", "toy"]) == 2
    told = capsys.readouterr().err
    assert lacking in told
    assert 'pip install "fermi-fair[dev]"' in told


def test_a_benchmark_may_take_a_data_set_and_be_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "bench_toy.py").write_text(
        "def measure(dataset='adult', quick=False): return [dataset, quick]\ndef show(cases): print(*cases)\n"
    )
    monkeypatch.setattr("fermi.cli.bench._folder", lambda: tmp_path)
    assert main(["bench", "toy"]) == 0
    assert main(["bench", "toy", "--quick"]) == 0
    assert main(["bench", "toy", "--quick", "--dataset", "german"]) == 0
    assert main(["bench", "toy", "--dataset", str(tmp_path)]) == 0  # a folder says where files are, not which
    assert capsys.readouterr().out == f"adult False\nadult True\ngerman True\n{tmp_path} False\n"
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"bench_toy.py", "results"}
    kept = {path.name for path in (tmp_path / "results").iterdir()}
    assert kept == {"toy.json", "toy-quick.json", "toy-german-quick.json"}  # a quick run does not undo a long one


def test_the_baselines_are_compared_and_one_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("oxonfair", reason="the extra `baselines` is not installed")
    pytest.importorskip("fairgbm", reason="the extra `baselines` is not installed")
    bench = load(Path(__file__).parents[2] / "benchmarks" / "bench_baselines.py")
    find = baselines.find

    class Failing(Unmitigated):
        def _fit(self, *arguments: object) -> None:
            raise ValueError("no luck\nat all")

    def found(name: str) -> object:
        if name == "lost":
            raise MissingExtraError("This needs `lost`.")
        return Failing if name == "failing" else find(name)

    monkeypatch.setattr(baselines, "available", lambda: ["failing", "lost", "oxonfair", "fairgbm"])
    monkeypatch.setattr(baselines, "find", found)
    cases = bench.measure("synthetic", quick=True)
    assert [case["method"] for case in cases] == (
        ["failing"] * 3 + ["lost"] + ["oxonfair"] * 3 + ["oxonfair inferred"] * 3 + ["fairgbm"] * 3
    )
    assert [case.get("failed") for case in cases[:4]] == ["ValueError: no luck"] * 3 + ["This needs `lost`."]
    assert {case["notion"] for case in cases[-3:]} == {"equalized_odds"}
    assert all(0 < case["error"] < 0.5 and 0 <= case["violation"] < 1 for case in cases[4:])
    bench.show(cases)
    shown = capsys.readouterr().out
    assert "oxonfair* " in shown
    assert "oxonfair inferred " in shown
