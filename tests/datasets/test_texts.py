"""Comments: the two sets, which religion a comment names, words as numbers and their vectors."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fermi import DemographicParity, FermiError, datasets, parity_difference
from fermi.datasets import Vocabulary
from fermi.datasets.common.comments import religion
from fermi.errors import DataError

Home = Callable[[str], Path]
Publish = Callable[[str, Mapping[str, bytes]], Path]

COMMENTS = [
    (" `The church, says he, is Christian.` ", "False"),
    ("muslims and JEWISH people\nlive here, too", "False"),
    ("null", "False"),
    ("you idiot, leave the christians and the muslims alone", "True"),
    ('he said ""no"", you fool', "True"),
    ("the jewish quarter", "False"),
]


def wikipedia(part: str, rows: list[tuple[str, str]]) -> bytes:
    """Rows in the publisher's layout."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["rev_id", "toxicity", "comment", "year", "logged_in", "ns", "sample", "split", "is_toxic"])
    for i, (comment, toxic) in enumerate(rows):
        writer.writerow(
            [f"{2232 + i}.0", 0.7 if toxic == "True" else 0.1, comment, 2002, "True", "user", "random", part, toxic]
        )
    return out.getvalue().encode()


@pytest.fixture
def wiki(publish: Publish) -> Path:
    rows = {"train": COMMENTS, "dev": [("a muslim in dev", "True")], "test": [("a christian, unforeseen", "False")] * 2}
    return publish("toxic", {f"wiki_{part}.csv": wikipedia(part, rows[part]) for part in rows})


def test_toxic_reads_the_publisher_s_format(wiki: Path) -> None:
    data = datasets.load("toxic", data_home=wiki)
    assert data.X_train.columns.tolist() == ["comment"]
    assert data.X_train["comment"].tolist() == [comment for comment, _ in COMMENTS]
    assert data.y_train.tolist() == [0, 0, 0, 1, 1, 0]
    named = ["christian", "muslim or jewish", None, None, None, "muslim or jewish"]
    assert data.s_train["religion"].where(data.s_train["religion"].notna(), None).tolist() == named
    assert len(data.X_test) == 2
    assert datasets.load("toxic", data_home=wiki, held_out="dev").X_test["comment"].tolist() == ["a muslim in dev"]


def test_words_that_name_a_religion_may_be_left_out(wiki: Path) -> None:
    data = datasets.load("toxic", data_home=wiki, religions="three", include_sensitive=False)
    text = " ".join(data.X_train["comment"]).lower()
    assert not any(term in text for term in ("christian", "muslim", "jewish"))
    assert "the church, says he, is  ." in text
    named = data.s_train["religion"]
    assert named[named.notna()].to_dict() == {0: "christian", 5: "jewish"}


def test_a_comment_names_one_group_or_none() -> None:
    comments = pd.Series(["CHRISTIANITY", "jews", "muslim, jewish", "christian muslim", "a buddhist", ""])
    two, three = (religion(comments, kind).fillna("unknown").tolist() for kind in ("two", "three"))
    assert two == ["christian", "unknown", "muslim or jewish", "unknown", "unknown", "unknown"]
    assert three == ["christian", "unknown", "unknown", "unknown", "unknown", "unknown"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("toxic", {"religions": "four"}, "`religions` is 'four'; expected one of 'two', 'three'."),
        ("toxic", {"held_out": "train"}, "`held_out` is 'train'; expected one of 'test', 'dev'."),
        ("toxic", {"include_sensitive": None}, "`include_sensitive` is None; expected True or False."),
        ("toxic_madlibs", {"religions": 2}, "`religions` is 2; expected one of 'two', 'three'."),
    ],
)
def test_a_bad_option_is_one_sentence(wiki: Path, name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FermiError) as caught:
        datasets.load(name, data_home=wiki, **options)
    assert str(caught.value) == message


def test_a_file_of_another_layout_is_noticed(publish: Publish) -> None:
    other = b"Text,Label\nhello,BAD\n"
    home = publish("toxic", {f"wiki_{part}.csv": other for part in ("train", "dev", "test")})
    with pytest.raises(DataError, match=r"wiki_train\.csv is not the publisher's CSV with comment and is_toxic"):
        datasets.load("toxic", data_home=home)
    bad_labels = wikipedia("train", [("hello", "perhaps")])
    home = publish("toxic", {f"wiki_{part}.csv": bad_labels for part in ("train", "dev", "test")})
    with pytest.raises(DataError, match=r"wiki_train\.csv is not the publisher's CSV"):
        datasets.load("toxic", data_home=home)


@pytest.mark.slow
def test_madlibs_itself(home_of: Home) -> None:
    data = datasets.load("toxic_madlibs", data_home=home_of("toxic_madlibs"), religions="three")
    assert (len(data.X_train), len(data.X_test)) == (61_251, 15_313)
    y, s = pd.concat([data.y_train, data.y_test]), pd.concat([data.s_train, data.s_test])["religion"].fillna("unknown")
    # Each of the three terms is in 1,514 sentences of the raw file, 757 of them BAD; of all 76,564 half are.
    assert Counter(zip(s, y, strict=True)) == {
        **{(group, label): 757 for group in ("christian", "jewish", "muslim") for label in (0, 1)},
        **{("unknown", label): 38_282 - 3 * 757 for label in (0, 1)},
    }
    assert data.y_train.loc[0] == 1  # murder american
    two = datasets.load("toxic_madlibs", data_home=home_of("toxic_madlibs"))
    assert two.X_test.index.equals(data.X_test.index)
    assert two.s_test["religion"].value_counts().to_dict() == {"muslim or jewish": 606, "christian": 303}
    # No test sentence is a training sentence with another religion, or with none.
    plain = datasets.load("toxic_madlibs", data_home=home_of("toxic_madlibs"), include_sensitive=False)
    named = plain.s_test["religion"].notna()
    assert not plain.X_test["comment"][named].isin(plain.X_train["comment"]).any()


@pytest.mark.slow
def test_words_are_columns_in_numeric_features(home_of: Home) -> None:
    data = datasets.load("toxic_madlibs", data_home=home_of("toxic_madlibs")).numeric()
    assert data.X_train.shape[1] == 174
    murder_american = data.X_train.to_numpy()[0]
    assert data.X_train.columns[murder_american > 0].tolist() == ["american", "murder"]
    model = LogisticRegression().fit(data.X_train, data.y_train)
    assert model.score(data.X_test, data.y_test) > 0.99
    assert parity_difference(model.predict(data.X_test), data.s_test) < 0.05


def test_numeric_features_know_the_words_of_training_rows_alone(wiki: Path) -> None:
    numeric = datasets.load("toxic", data_home=wiki).numeric()
    assert "unforeseen" not in numeric.X_train.columns
    assert numeric.X_test.columns.equals(numeric.X_train.columns)
    assert numeric.X_test["christian"].tolist() == [1.0, 1.0]
    assert numeric.X_test["the"].tolist() == [0.0, 0.0]


def test_a_vocabulary_ranks_words_and_pads_rows() -> None:
    vocabulary = Vocabulary.fit(["b b a a c", "It’s d_1, don't: C'EST B!"], max_words=6, length=3)
    assert vocabulary.words == ("b", "a", "c", "'est", "'s", "d_1")
    assert len(vocabulary) == 8
    rows = vocabulary.transform(["", "B, zzz", "c a b a"])
    assert rows.tolist() == [[0, 0, 0], [2, 1, 0], [4, 3, 2]]
    assert rows.dtype == np.int32
    with pytest.raises(FermiError, match="`length` is 0; expected a whole number of at least 1"):
        Vocabulary.fit(["a"], length=0)
    wrong: Any = "all"
    with pytest.raises(FermiError, match="`max_words` is 'all'; expected a whole number of at least 1"):
        Vocabulary.fit(["a"], max_words=wrong)


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz"])
def test_vectors_of_known_words(tmp_path: Path, name: str) -> None:
    vocabulary = Vocabulary.fit(["kind kind strange 서윤"])
    text = "the 1 2\nkind 0.25 -1e-1\n서윤 3 4\n. . . 5 6\nkind of 7 8\n".encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    expected: dict[str, list[float]] = {"kind": [0.25, -0.1], "strange": [0.0, 0.0], "서윤": [3.0, 4.0]}
    table = vocabulary.vectors(path)
    np.testing.assert_allclose(table, [[0.0, 0.0], [0.0, 0.0], *(expected[word] for word in vocabulary.words)])
    assert table.dtype == np.float32


@pytest.mark.parametrize("text", [b"kind 1 2\nstrange 1\n", b"kind one two\n", b"nothing 1 2\n", b"\xff\xff"])
def test_a_bad_file_of_vectors_is_one_sentence(tmp_path: Path, text: bytes) -> None:
    vocabulary = Vocabulary.fit(["kind strange"])
    with pytest.raises(DataError, match=r"There is no file .*glove.*subset.*: put a text file of https://nlp.stanford"):
        vocabulary.vectors(data_home=tmp_path)
    path = tmp_path / "bad.txt"
    path.write_bytes(text)
    with pytest.raises(DataError, match=r"bad.txt is no file of vectors of these words \(.*\)\.$"):
        vocabulary.vectors(path)
    path = tmp_path / "bad.gz"
    path.write_bytes(gzip.compress(b"kind 1 2\n")[:-9])
    with pytest.raises(DataError, match=r"bad.gz is no file of vectors of these words"):
        vocabulary.vectors(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The adversary W has not settled")  # nor can it in one pass
def test_the_text_cnn_trains_on_numbered_words(home_of: Home) -> None:
    torch: Any = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    from fermi.torch import FermiNet, models

    home = home_of("toxic_madlibs")
    data = datasets.load("toxic_madlibs", data_home=home)
    rows = data.s_train["religion"].notna()
    comments = data.X_train.loc[rows, "comment"]
    vocabulary = Vocabulary.fit(comments, length=20)
    vectors = vocabulary.vectors(data_home=home)
    assert vectors.shape == (len(vocabulary), 100)
    assert not vectors[:2].any()
    assert vectors[2:].any(axis=1).mean() > 0.8
    torch.manual_seed(0)
    module = models.TextCNN(len(vocabulary), length=20, vectors=torch.from_numpy(vectors))
    net = FermiNet(module, DemographicParity(), lam=0.5, max_epochs=1, random_state=0)
    net.fit(vocabulary.transform(comments), data.y_train[rows], sensitive_features=data.s_train[rows])
    known = data.s_test["religion"].notna()
    predicted = net.predict(vocabulary.transform(data.X_test.loc[known, "comment"]))
    assert (predicted == data.y_test[known]).mean() > 0.9


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(FermiError, match="`texts` is one text; expected one text per row"):
        Vocabulary.fit("hello")
    texts: list[Any] = ["a", None]
    with pytest.raises(FermiError, match="`texts` has None in row 1; expected one text per row"):
        Vocabulary.fit(["hello"]).transform(texts)
