"""Build wheel and sdist, install each into clean environments, and see that they work: `python tools/smoke.py`.

`--extras torch,boosting` names what the second environment has beside the core. What is built stays in `dist`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = """
import sys
from fermi import FermiClassifier, audit, datasets, parity_difference
assert "torch" not in sys.modules
data = datasets.synthetic(n=2_000, rated=False).numeric()
gaps = []
for lam in (0, 20):
    model = FermiClassifier(lam=lam).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    gaps.append(parity_difference(model.predict(data.X_test), data.s_test))
assert gaps[1] < gaps[0], gaps
audit(data.y_test, model.predict(data.X_test), sensitive_features=data.s_test).to_html("audit.html")
"""
WITHOUT = """
for name in ("torch", "boosting"):
    try:
        __import__(f"fermi.{name}", fromlist=["FermiNet", "FermiBoostingClassifier"])
        from fermi.boosting import FermiBoostingClassifier
        FermiBoostingClassifier().fit([[0.0], [1.0]] * 20, [0, 1] * 20, sensitive_features=[0, 1] * 20)
    except ImportError as error:
        assert "fermi-fair[" in str(error), error
    else:
        raise AssertionError(f"fermi.{name} works without its extra")
"""
EXTRAS = {
    "torch": """
from fermi.torch import FermiRegularizer
import torch
reg = FermiRegularizer.from_labels(torch.tensor([0, 1, 1]), n_classes=2, lam=1.0)
reg(torch.zeros(3, 2, requires_grad=True), torch.tensor([0, 1, 1])).backward()
""",
    "boosting": """
from fermi import datasets
from fermi.boosting import FermiBoostingClassifier
data = datasets.synthetic(n=1_000, rated=False)
for booster in ("lightgbm", "xgboost"):
    model = FermiBoostingClassifier(booster, n_estimators=5)
    model.fit(data.X_train, data.y_train, sensitive_features=data.s_train).predict(data.X_test)
""",
}
COMMANDS = (
    ("fermi", "demo", "--output", "credit"),
    ("fermi", "train", "credit/applicants.csv", "--target", "outcome", "--sensitive", "group", "--lam", "1",
     "--drop-sensitive", "--output", "loans"),
    ("fermi", "predict", "loans", "credit/applicants.csv", "--output", "predicted.csv"),
)  # fmt: skip


def build(folder: Path) -> list[Path]:
    """Make wheel and sdist in a folder."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
    return [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]


def install(package: Path, folder: Path, extras: Iterable[str]) -> Path:
    """Make a clean environment with the package and some extras; return where its programs are."""
    venv.create(folder, with_pip=True)
    wanted = f"fermi-fair[{','.join(extras)}] @ {package.resolve().as_uri()}"
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--no-compile", wanted], check=True)
    return folder / "bin"


def smoke(programs: Path, folder: Path, extras: list[str]) -> None:
    """Run the core, the commands and each extra in a folder of their own."""
    folder.mkdir()
    for code in (CORE, *([] if extras else [WITHOUT]), *(EXTRAS[name] for name in extras)):
        subprocess.run([programs / "python", "-c", code], cwd=folder, check=True)
    for command in COMMANDS:
        subprocess.run([programs / command[0], *command[1:]], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for made in ("audit.html", "credit/report.html", "loans/report.html", "predicted.csv"):
        assert (folder / made).stat().st_size > 1000, made


def main() -> None:
    """Build, install and try: the wheel without extras, the sdist without extras, the wheel with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="torch,boosting", help="of the last environment, with commas; '' for none")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where wheel and sdist go")
    asked = parser.parse_args()
    extras = [name for name in asked.extras.split(",") if name]
    built = {path.suffix: path for path in build(asked.into)}
    tries = [(".whl", []), (".gz", []), *([(".whl", extras)] if extras else [])]
    for suffix, own in tries:
        with tempfile.TemporaryDirectory() as folder:
            programs = install(built[suffix], Path(folder) / "environment", own)
            smoke(programs, Path(folder) / "work", own)
        print(f"{built[suffix].name}, {' and '.join(own) or 'no extra'}: works")


if __name__ == "__main__":
    main()
