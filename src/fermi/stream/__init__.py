"""Data larger than memory: a `FermiClassifier` trained from files that are read in batches, pass by pass.

`fit_stream` reads, learns how to code rows, and minimises over sums that an engine makes. Loads pyarrow.
"""

from fermi.stream._files import BadFileError
from fermi.stream.fit import fit_stream

__all__ = ["BadFileError", "fit_stream"]
