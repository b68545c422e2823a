"""What holds for every test, those in docstrings of the package included."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sklearn


@pytest.fixture(autouse=True)
def scikit_learn_as_it_comes() -> Iterator[None]:
    """Scikit-learn's configuration is one per process: what a test or an example sets ends with it."""
    with sklearn.config_context():
        yield
