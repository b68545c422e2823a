"""Communities and crime: low, medium or high rate of violent crime in 1,994 communities of the United States.

The 1990 census joined with the police survey of 1990 and the crime reports of 1995, donated to UCI by Redmond (2009),
with no official split. Known problems: rows are places, not people, so no group here is a group of persons; the police
columns are missing in 84% of rows, and set to 0, as Kearns et al. (2018) do, they say little more than whether a place
was in the survey, which other columns tell as well where those are left out; the publisher scaled every column to 0 to
1 over all rows and cut off what lay beyond; communities without crime figures are not in the file. The 18 sensitive
attributes are those of Kearns et al., each 1 above the mean of the training rows. Sensitive columns are among the
features, as numbers, unless `include_sensitive=False`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.datasets.common.loading import TEST_SIZE, flag, split
from fermi.errors import bad_argument
from fermi.inputs.arguments import whole

FILES = (
    RemoteFile(
        "communities/communities.data",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/communities/communities.data",
        "d90d85bd66bad9a00fa0ed6c15ac017b5966d528e55ba2940ad028d071353f95",
    ),
)
_PLACE = ["state", "county", "community", "communityname", "fold"]  # predict nothing, says the publisher
_TARGET = "ViolentCrimesPerPop"
_FEATURES = """
population householdsize racepctblack racePctWhite racePctAsian racePctHisp agePct12t21 agePct12t29 agePct16t24
agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf pctWInvInc pctWSocSec pctWPubAsst pctWRetire medFamInc
perCapInc whitePerCap blackPerCap indianPerCap AsianPerCap OtherPerCap HispPerCap NumUnderPov PctPopUnderPov
PctLess9thGrade PctNotHSGrad PctBSorMore PctUnemployed PctEmploy PctEmplManu PctEmplProfServ PctOccupManu
PctOccupMgmtProf MalePctDivorce MalePctNevMarr FemalePctDiv TotalPctDiv PersPerFam PctFam2Par PctKids2Par
PctYoungKids2Par PctTeen2Par PctWorkMomYoungKids PctWorkMom NumIlleg PctIlleg NumImmig PctImmigRecent PctImmigRec5
PctImmigRec8 PctImmigRec10 PctRecentImmig PctRecImmig5 PctRecImmig8 PctRecImmig10 PctSpeakEnglOnly PctNotSpeakEnglWell
PctLargHouseFam PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous PersPerRentOccHous PctPersOwnOccup
PctPersDenseHous PctHousLess3BR MedNumBR HousVacant PctHousOccup PctHousOwnOcc PctVacantBoarded PctVacMore6Mos
MedYrHousBuilt PctHousNoPhone PctWOFullPlumb OwnOccLowQuart OwnOccMedVal OwnOccHiQuart RentLowQ RentMedian RentHighQ
MedRent MedRentPctHousInc MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet PctForeignBorn
PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85 LemasSwornFT LemasSwFTPerPop LemasSwFTFieldOps
LemasSwFTFieldPerPop LemasTotalReq LemasTotReqPerPop PolicReqPerOffic PolicPerPop RacialMatchCommPol PctPolicWhite
PctPolicBlack PctPolicHisp PctPolicAsian PctPolicMinor OfficAssgnDrugUnits NumKindsDrugsSeiz PolicAveOTWorked LandArea
PopDens PctUsePubTrans PolicCars PolicOperBudg LemasPctPolicOnPatr LemasGangUnitDeploy LemasPctOfficDrugUn
PolicBudgPerPop
""".split()  # noqa: SIM905 - the file has no header: these are the publisher's names, and quotes would hide them
ATTRIBUTES = (
    "racepctblack",
    "racePctWhite",
    "racePctAsian",
    "racePctHisp",
    "whitePerCap",
    "blackPerCap",
    "indianPerCap",
    "AsianPerCap",
    "OtherPerCap",
    "HispPerCap",
    "PctSpeakEnglOnly",
    "PctNotSpeakEnglWell",
    "PctForeignBorn",
    "RacialMatchCommPol",
    "PctPolicWhite",
    "PctPolicBlack",
    "PctPolicHisp",
    "PctPolicAsian",
)
_COUNT = f"a whole number from 1 to {len(ATTRIBUTES)}"


def load(
    *,
    data_home: str | Path | None = None,
    n_attributes: int = 1,
    include_sensitive: bool = True,
    test_size: float = TEST_SIZE,
    random_state: Any = 0,
) -> Dataset:
    """Load Communities and crime. The label is 0, 1 or 2: low, medium, high, by terciles of the training rows.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``communities/communities.data``.
    n_attributes : int
        How many of the 18 sensitive attributes, 1 to 18, in the order of `ATTRIBUTES`. Each is 0 or 1.
    include_sensitive : bool
        Whether their columns stay among the features.
    test_size : float
        The share of test rows. The split is not stratified: labels and attributes hang on thresholds that the
        training rows alone may set.
    random_state : int, Generator or RandomState, optional
        Another seed gives another split.

    Returns
    -------
    Dataset
        A split drawn by `random_state`.
    """
    import pandas as pd

    if whole("n_attributes", n_attributes, _COUNT, low=1) > len(ATTRIBUTES):
        raise bad_argument("n_attributes", f"is {n_attributes}", _COUNT)
    chosen = list(ATTRIBUTES[:n_attributes])
    path = FILES[0].locate(data_home)
    frame = pd.read_csv(path, names=[*_PLACE, *_FEATURES, _TARGET], na_values="?").drop(columns=_PLACE).fillna(0.0)
    train, test = split(frame, [], test_size, random_state)
    means = train[chosen].mean()
    terciles = np.quantile(train[_TARGET], [1 / 3, 2 / 3])
    dropped = [_TARGET] if flag("include_sensitive", include_sensitive) else [_TARGET, *chosen]

    def rows(part: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
        label = pd.Series(np.searchsorted(terciles, part[_TARGET]), index=part.index, name="violent_crime")
        return part.drop(columns=dropped), label, (part[chosen] > means).astype(int)

    return Dataset("communities", *rows(train), *rows(test), note=__doc__ or "")
