"""Files as a hospital, a bank and a school export them: made up, with the habits of the programs they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def hospital(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Patients and whether they came back: an identifier, American dates, shares with a sign, an age in years."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n, p=[0.55, 0.45])
    race = rng.choice(["White", "Black", "Hispanic", "Asian", "Amerindian"], n, p=[0.66, 0.2, 0.1, 0.033, 0.007])
    age = np.clip(rng.normal(58, 17, n), 18, 97).round().astype(int)
    stays = rng.poisson(0.5 + 0.5 * (race == "Black") + 0.012 * (age - 50).clip(0))
    oxygen = np.clip(rng.normal(95, 2.5, n), 80, 100).round(1)
    bill = np.exp(rng.normal(8.6, 0.6, n)).round()
    back = rng.random(n) < 1 / (1 + np.exp(2.4 - 0.55 * stays - 0.015 * (age - 58) + 0.12 * (oxygen - 95)))
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    spelled = np.where(rng.random(n) < 0.03, np.char.lower(race.astype(str)), race)
    readmitted = np.where(back, "Yes", "No").astype(object)
    readmitted[rng.random(n) < 0.06] = None
    return pd.DataFrame(
        {
            "Patient ID": [f"MRN{100000 + i}" for i in rng.permutation(n)],
            "Admitted": day.strftime("%m/%d/%Y"),
            "Age": age,
            "Sex": sex,
            "Race": spelled,
            "ZIP": rng.choice(["02139", "02140", "10027", "60615", "94110"], n),
            "Prior stays": stays,
            "O2 saturation": [f"{value}%" for value in oxygen],
            "Total charges": [f"${value:,.0f}" for value in bill],
            "Insurance": rng.choice(["Medicare", "Medicaid", "Private", "None"], n, p=[0.4, 0.2, 0.35, 0.05]),
            "Readmitted": readmitted,
        }
    )


def bank(n: int = 4000, seed: int = 1) -> pd.DataFrame:
    """Applicants and what was decided: the last label in the alphabet is the bad one, and one column tells it."""
    rng = np.random.default_rng(seed)
    woman = rng.random(n) < 0.42
    income = np.exp(rng.normal(7.8 - 0.18 * woman, 0.45, n)).round(2)
    years = rng.gamma(2.0, 4.0, n).round(1)
    debt = (rng.beta(2, 5, n) * 100).round(1)
    worth = 0.4 + 1.6 * (np.log(income) - 7.7) + 0.06 * (years - 8) - 0.03 * (debt - 28)
    good = rng.random(n) < 1 / (1 + np.exp(-worth))
    day = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    return pd.DataFrame(
        {
            "Antrag": np.arange(700001, 700001 + n),
            "Datum": day.strftime("%d.%m.%Y"),
            "Einkommen": income,
            "Jahre im Beruf": years,
            "Schulden %": debt,
            "Straße": rng.choice(["Süd", "Nord", "West", "Ost"], n),
            "Geschlecht": np.where(woman, "weiblich", "männlich"),
            "Abgelehnt": (~good).astype(int),
            "Entscheidung": np.where(good, "approved", "denied"),
        }
    )


def school(n: int = 1600, seed: int = 2) -> pd.DataFrame:
    """Students and whether they graduate: one-hot columns of a group, almost everybody passes, few rows."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["white", "black", "asian", "other"], n, p=[0.8, 0.11, 0.06, 0.03])
    points = np.clip(rng.normal(36 - 4 * (group == "black"), 5.5, n), 10, 48).round(1)
    grade = np.clip(rng.normal(3.2 - 0.2 * (group == "black"), 0.4, n), 1, 4).round(2)
    passed = rng.random(n) < 1 / (1 + np.exp(-2.1 - 0.13 * (points - 36) - 0.9 * (grade - 3.2)))
    hot = {f"race_{name}": (group == name).astype(int) for name in ("asian", "black", "other", "white")}
    chance = (1 / (1 + np.exp(-2.0 - 0.1 * (points - 36)))).round(4)
    return pd.DataFrame(
        {
            "student": [f"s{i:05d}" for i in range(n)],
            "points": points,
            "gpa": grade,
            "fulltime": rng.choice([1, 2], n, p=[0.9, 0.1]),
            "group": group,
            **hot,
            "PF_0": 1 - passed.astype(int),
            "PF_1": passed.astype(int),
            "advisor score": chance,
        }
    )


def write_all(folder: Path) -> dict[str, Path]:
    """Write the three files as their offices would."""
    paths = {"hospital": folder / "readmissions.csv", "bank": folder / "kredite.csv", "school": folder / "students.csv"}
    hospital().to_csv(paths["hospital"], index=False)
    bank().to_csv(paths["bank"], index=False, sep=";", decimal=",", encoding="latin-1")
    school().to_csv(paths["school"], index=False)
    return paths
