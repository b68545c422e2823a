"""Colour MNIST: digits whose colour gives them away in training and tells nothing in the test.

MNIST (LeCun et al. 1998: 60,000 and 10,000 digits of 28 × 28) coloured as Li and Vasconcelos (REPAIR, 2019) do: every
digit has a mean colour drawn at random, each training image is tinted with it plus Gaussian noise of variance σ², test
images stay grey. LeCun's own page no longer serves the files, so they come from PyTorch's copy. Known problems: a mean
colour may be dark, or near that of another digit, by the luck of `random_state`; with σ = 0, as in the paper, colour
and label are the same thing, so that full parity leaves no accuracy on the training rows; some labels of MNIST itself
are wrong. The sensitive attribute `color` is the digit whose mean colour is nearest to the colour drawn, which with
σ = 0 is the image's own, as in the authors' code; test rows are all "grey". Sensitive columns are not among the
features, but colour is what the pixels show unless `include_sensitive=False`.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.datasets.common.loading import flag
from fermi.inputs.arguments import AT_LEAST_ZERO, generator, number

if TYPE_CHECKING:
    import pandas as pd

Pixels = NDArray[np.float32]
_URL = "https://ossci-datasets.s3.amazonaws.com/mnist"
_SHIPPED = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
FILES = tuple(RemoteFile(f"mnist/{name}.gz", f"{_URL}/{name}.gz", sha256) for name, sha256 in _SHIPPED.items())
_SHAPE = (3, 28, 28)
_COLUMNS = [f"{channel}_{i}_{j}" for channel in ("red", "green", "blue") for i in range(28) for j in range(28)]


@dataclass(frozen=True, eq=False, repr=False)
class ImageDataset(Dataset):
    """A data set of images as tables, one column per channel and pixel, from 0 to 1 in single precision.

    Attributes
    ----------
    name, X_train, y_train, s_train, X_test, y_test, s_test, note
        As in `Dataset`.
    colors : (10, 3) array
        The mean colour of every digit: red, green, blue.
    """

    colors: Pixels = field(kw_only=True)

    def images(self) -> tuple[Pixels, Pixels]:
        """Training and test rows as images, without a copy.

        Returns
        -------
        train, test : (n, 3, 28, 28) float32 arrays
            Channel × row × column of each image.
        """
        train, test = (part.to_numpy().reshape(-1, *_SHAPE) for part in (self.X_train, self.X_test))
        return train, test

    def numeric(self) -> Self:
        """The data set as it is: all pixels have one scale already.

        Returns
        -------
        ImageDataset
            Nothing is changed or copied.
        """
        return self


def load(
    *,
    data_home: str | Path | None = None,
    sigma: float = 0.0,
    include_sensitive: bool = True,
    random_state: Any = 0,
) -> ImageDataset:
    """Load colour MNIST. The label is the digit.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``mnist/train-images-idx3-ubyte.gz`` and the other three files.
    sigma : float
        Standard deviation of each image's colour around the mean colour of its digit, in each channel; a colour is cut
        off at 0 and 1.
    include_sensitive : bool
        Whether training images are tinted. If not they are grey as the test images; `color` is what they would have
        been.
    random_state : int, Generator or RandomState, optional
        Seed of the mean colours, which are the same for every `sigma`, and of the noise.

    Returns
    -------
    ImageDataset
        MNIST's own split, with the mean colours in `colors`.
    """
    import pandas as pd

    sigma = number("sigma", sigma, AT_LEAST_ZERO, low=0.0)
    tinted = flag("include_sensitive", include_sensitive)
    rng = generator(random_state)
    images, y_train, grey, y_test = (_read(file.locate(data_home)) for file in FILES)
    colors = rng.random((10, 3), dtype=np.float32)
    drawn = colors[y_train] + np.float32(sigma) * rng.standard_normal((len(y_train), 3), dtype=np.float32)
    drawn = np.clip(drawn, 0.0, 1.0)
    nearest = np.argmin(((drawn[:, None] - colors) ** 2).sum(axis=2), axis=1)
    white = np.ones(3, dtype=np.float32)
    return ImageDataset(
        "color_mnist",
        _table(images, drawn if tinted else white),
        pd.Series(y_train.astype(int), name="digit"),
        pd.DataFrame({"color": pd.Categorical.from_codes(nearest, pd.Index([f"of {digit}" for digit in range(10)]))}),
        _table(grey, white),
        pd.Series(y_test.astype(int), name="digit"),
        pd.DataFrame({"color": pd.Categorical(["grey"] * len(y_test))}),
        note=__doc__ or "",
        colors=colors,
    )


def _read(path: Path) -> NDArray[np.uint8]:
    """Read an array in MNIST's own format: two zeros, the type, the number of axes, their lengths, then the bytes."""
    with gzip.open(path) as file:
        raw = file.read()
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def _table(images: NDArray[np.uint8], color: Pixels) -> pd.DataFrame:
    """Make a table of images, tinted with one colour or each with its own."""
    import pandas as pd

    pixels = np.empty((len(images), *_SHAPE), dtype=np.float32)
    for channel in range(3):
        np.multiply(
            images, color[..., channel, None, None] / np.float32(255), out=pixels[:, channel], casting="same_kind"
        )
    return pd.DataFrame(pixels.reshape(len(images), -1), columns=_COLUMNS, copy=False)
