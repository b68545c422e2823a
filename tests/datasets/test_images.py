"""Colour MNIST: the real digits once, and otherwise a few made-up ones in the publisher's format."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fermi import FermiError, datasets
from fermi.datasets import color_mnist
from fermi.datasets.color_mnist import ImageDataset

Home = Callable[[str], Path]
Publish = Callable[[str, Mapping[str, bytes]], Path]
N_TRAIN, N_TEST = 400, 30


def idx(array: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """An array as MNIST's publisher writes it."""
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape)
    return gzip.compress(header + array.tobytes())


@pytest.fixture
def digits(publish: Publish) -> dict[str, Any]:
    """Random images, no two alike, and where they are."""
    rng = np.random.default_rng(7)
    arrays = {
        "train-images-idx3-ubyte.gz": rng.integers(0, 256, (N_TRAIN, 28, 28), dtype=np.uint8),
        "train-labels-idx1-ubyte.gz": np.arange(N_TRAIN, dtype=np.uint8) % 10,
        "t10k-images-idx3-ubyte.gz": rng.integers(0, 256, (N_TEST, 28, 28), dtype=np.uint8),
        "t10k-labels-idx1-ubyte.gz": np.arange(N_TEST, dtype=np.uint8) % 10,
    }
    home = publish("color_mnist", {name: idx(array) for name, array in arrays.items()})
    raw, y, grey, _ = arrays.values()
    return {"home": home, "raw": raw / 255.0, "y": y.astype(int), "grey": grey / 255.0}


def load(digits: dict[str, Any], **options: Any) -> ImageDataset:
    return color_mnist.load(data_home=digits["home"], **options)


def drawn_colors(data: ImageDataset, digits: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The colour of every training image, from its pixels."""
    images = data.images()[0].astype(float)
    return np.asarray(
        (images * digits["raw"][:, None]).sum(axis=(2, 3)) / (digits["raw"] ** 2).sum(axis=(1, 2))[:, None]
    )


def test_every_digit_has_its_colour_in_training_and_none_in_the_test(digits: dict[str, Any]) -> None:
    data = load(digits)
    train, test = data.images()
    assert train.shape == (N_TRAIN, 3, 28, 28)
    assert train.dtype == np.float32
    expected = data.colors[digits["y"]][:, :, None, None] * digits["raw"][:, None]
    np.testing.assert_allclose(train, expected, atol=1e-6)
    np.testing.assert_allclose(test, np.repeat(digits["grey"][:, None], 3, axis=1), atol=1e-6)
    assert data.y_train.tolist() == digits["y"].tolist()
    assert data.s_train["color"].tolist() == [f"of {digit}" for digit in digits["y"]]
    assert set(data.s_test["color"]) == {"grey"}


def test_a_table_names_its_pixels(digits: dict[str, Any]) -> None:
    data = load(digits)
    assert data.X_train.shape == (N_TRAIN, 3 * 28 * 28)
    np.testing.assert_array_equal(data.X_train["green_3_5"], data.images()[0][:, 1, 3, 5])
    np.testing.assert_array_equal(data.X_test["blue_27_0"], data.images()[1][:, 2, 27, 0])
    assert np.shares_memory(data.images()[0], data.X_train.to_numpy())
    assert data.numeric().X_train is data.X_train
    assert "400 + 30 rows, 2352 columns, sensitive: color" in repr(data)


def test_sigma_is_the_deviation_of_the_colour(digits: dict[str, Any]) -> None:
    data = load(digits, sigma=0.05, random_state=1)
    mean = data.colors[digits["y"]]
    inside = (mean > 0.2) & (mean < 0.8)  # four deviations from where colours are cut off
    noise = (drawn_colors(data, digits) - mean)[inside]
    assert len(noise) > 400
    assert noise.std() == pytest.approx(0.05, rel=0.1)
    assert abs(noise.mean()) < 0.01
    assert np.array_equal(data.colors, load(digits, sigma=0.0, random_state=1).colors)


def test_colour_as_an_attribute_is_the_nearest_mean(digits: dict[str, Any]) -> None:
    data = load(digits, sigma=0.3)
    colors = drawn_colors(data, digits)
    assert colors.min() >= -1e-6
    assert colors.max() <= 1 + 1e-6
    nearest = [int(np.argmin([np.sum((color - mean) ** 2) for mean in data.colors])) for color in colors]
    assert data.s_train["color"].tolist() == [f"of {digit}" for digit in nearest]
    assert 0.1 < np.mean(np.array(nearest) == digits["y"]) < 0.9


def test_the_seed_sets_colours_and_noise(digits: dict[str, Any]) -> None:
    one, same, other = (load(digits, sigma=0.1, random_state=seed) for seed in (4, 4, 5))
    assert one.X_train.equals(same.X_train)
    assert not np.allclose(one.colors, other.colors)


def test_training_images_may_be_grey(digits: dict[str, Any]) -> None:
    grey, tinted = load(digits, include_sensitive=False, sigma=0.1), load(digits, sigma=0.1)
    np.testing.assert_allclose(grey.images()[0], np.repeat(digits["raw"][:, None], 3, axis=1), atol=1e-6)
    assert grey.s_train.equals(tinted.s_train)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": -0.1}, "`sigma` is -0.1; expected a finite number of at least 0."),
        ({"sigma": float("nan")}, "`sigma` is nan; expected a finite number of at least 0."),
        ({"include_sensitive": 1}, "`include_sensitive` is 1; expected True or False."),
        ({"random_state": -1}, "`random_state` is -1; expected None, a whole number or a generator."),
    ],
)
def test_a_bad_option_is_one_sentence(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FermiError) as caught:
        datasets.load("color_mnist", data_home=tmp_path, **options)
    assert str(caught.value) == message


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The adversary W has not settled")  # nor can it in a few passes
def test_the_paper_s_networks_learn_the_colours(digits: dict[str, Any]) -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    from fermi.torch import FermiNet, models

    data = load(digits)
    train, test = data.images()

    def lenet5(n_features: int, n_classes: int) -> Any:
        return models.lenet5(n_classes)

    for module, rows, others in [(lenet5, train, test), (models.mlp, data.X_train, data.X_test)]:
        net = FermiNet(module, lam=0.001, lr=0.005, max_epochs=5, batch_size=32, random_state=0)
        net.fit(rows, data.y_train, sensitive_features=data.s_train)
        assert net.score(rows, data.y_train) > 0.5  # random pixels: nothing but colour tells the digit
        assert net.predict(others).shape == (N_TEST,)


@pytest.mark.slow
def test_mnist_itself(home_of: Home) -> None:
    home = home_of("color_mnist")
    data = color_mnist.load(data_home=home)
    assert (len(data.X_train), len(data.X_test)) == (60_000, 10_000)
    with gzip.open(home / "mnist" / "train-labels-idx1-ubyte.gz") as file:
        labels = file.read()[8:]
    assert data.y_train.tolist() == list(labels)
    assert data.s_train["color"].value_counts().to_dict() == {
        "of 0": 5923,
        "of 1": 6742,
        "of 2": 5958,
        "of 3": 6131,
        "of 4": 5842,
        "of 5": 5421,
        "of 6": 5918,
        "of 7": 6265,
        "of 8": 5851,
        "of 9": 5949,
    }
    assert data.y_test.value_counts().sort_index().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    with gzip.open(home / "mnist" / "train-images-idx3-ubyte.gz") as file:
        file.seek(16 + 784 * 59_999)
        last = np.frombuffer(file.read(), np.uint8).reshape(28, 28)
    image = data.images()[0][-1]
    np.testing.assert_allclose(image, data.colors[labels[-1]][:, None, None] * last / 255.0, atol=1e-6)
