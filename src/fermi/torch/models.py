"""The models of the paper's experiments, as plain modules that return logits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from fermi.inputs.arguments import whole


def logistic(n_features: int, n_classes: int) -> nn.Module:
    """Multinomial logistic regression (sections 4.1 and 4.3 of the paper).

    Parameters
    ----------
    n_features, n_classes : int
        How many there are.

    Returns
    -------
    nn.Module
        From features to one logit per class.
    """
    return nn.Linear(n_features, n_classes)


def mlp(n_features: int, n_classes: int, *, hidden: Sequence[int] = (300, 100)) -> nn.Module:
    """Fully connected layers with ReLU between them; images are flattened first (section 4.4 of the paper).

    Parameters
    ----------
    n_features, n_classes : int
        How many there are; of an image, channels times pixels.
    hidden : sequence of int
        The widths of the hidden layers.

    Returns
    -------
    nn.Module
        From features or images to one logit per class.
    """
    sizes = [n_features, *hidden, n_classes]
    layers: list[nn.Module] = [nn.Flatten()]
    for size, following in pairwise(sizes):
        layers += [nn.Linear(size, following), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet5(n_classes: int = 10, *, channels: int = 3) -> nn.Module:
    """LeNet-5 for images of 28 × 28, with ReLU and maximum pooling (section 4.4 of the paper).

    Parameters
    ----------
    n_classes : int
        How many classes.
    channels : int
        How many channels an image has.

    Returns
    -------
    nn.Module
        From images to one logit per class.
    """
    return nn.Sequential(
        *(nn.Conv2d(channels, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        *(nn.Linear(400, 120), nn.ReLU()),
        *(nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, n_classes),
    )


class TextCNN(nn.Module):
    """The network of MinDiff for texts, three convolutions over word vectors (section 4.2 of the paper).

    Parameters
    ----------
    n_words : int
        Size of the vocabulary; word 0 is the padding.
    n_classes : int
        How many classes.
    length : int
        Words per text, at least 20.
    n_dimensions : int
        Of the word vectors.
    vectors : tensor, n_words × n_dimensions, optional
        Word vectors to start from.
    """

    def __init__(
        self,
        n_words: int,
        n_classes: int = 2,
        *,
        length: int = 250,
        n_dimensions: int = 100,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        whole("length", length, "a whole number of at least 20", low=20)
        self.embed = nn.Embedding(n_words, n_dimensions, padding_idx=0)
        if vectors is not None:
            with torch.no_grad():
                self.embed.weight.copy_(vectors)
        layers: list[nn.Module] = []
        for size, pool in ((n_dimensions, 2), (128, 2), (128, 5)):
            layers += [nn.Conv1d(size, 128, 5, padding=2), nn.ReLU(), nn.MaxPool1d(pool)]
        left = length // 2 // 2 // 5
        self.layers = nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(128 * left, 128), nn.ReLU(), nn.Linear(128, n_classes)
        )

    def forward(self, words: Tensor) -> Tensor:
        """Logits of texts, each a row of word numbers.

        Parameters
        ----------
        words : tensor, n × length
            Word numbers, 0 for padding.

        Returns
        -------
        tensor, n × n_classes
            One logit per class.
        """
        logits: Tensor = self.layers(self.embed(words).transpose(1, 2))
        return logits
