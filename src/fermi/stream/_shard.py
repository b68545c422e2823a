"""A shard: some files, and the sums over their rows. Another process can make one from plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from fermi._typing import Floats, Ints
from fermi.compiled.permutation import shuffled
from fermi.compiled.table_rows import add_pass
from fermi.linear.table_loop import Pace, Progress, TableLoop, Tables
from fermi.stream import _columns as columns_of
from fermi.stream._coding import Coder, Coding, Rows
from fermi.stream._files import BadFileError, SourceFile
from fermi.stream._profile import Profile, Reading, empty_profile
from fermi.stream._schema import check_columns

T = TypeVar("T")

_LANES = 4  # places of the files that a block's rows come from at a time


class Sizes(NamedTuple):
    """How many rows a shard reads at a time, and how many it shuffles."""

    batch: int = 1 << 15
    block: int = 1 << 17


class Shard:
    """Some files of a source.

    Parameters
    ----------
    files : list of SourceFile
        The files.
    reading : Reading
        Which columns to read.
    families : dict
        The kind of each column, which all files must agree with.
    sizes : Sizes
        How many rows are held.
    skip : bool
        Whether the first pass leaves out a file that cannot be used.
    """

    def __init__(
        self, files: Sequence[SourceFile], reading: Reading, families: dict[str, str], sizes: Sizes, skip: bool
    ) -> None:
        self.files, self.reading, self.families, self.sizes, self.skip = list(files), reading, families, sizes, skip
        self._coder: Coder | None = None
        self._epoch: tuple[int, int, Iterator[tuple[Rows, Ints]]] | None = None

    def profile(self) -> tuple[Profile, list[BadFileError]]:
        """Read all rows once; files that cannot be used are an error, or left out and told."""
        found, bad = empty_profile(self.families, self.reading.features), []
        for file in list(self.files):
            try:
                found.merge(self._profile_of(file))
            except BadFileError as error:
                if not self.skip:
                    raise
                bad.append(error)
                self.files.remove(file)
        return found, bad

    def _profile_of(self, file: SourceFile) -> Profile:
        check_columns(file.path, file.columns(), self.reading.columns, self.families)
        found = empty_profile(self.families, self.reading.features)
        words = [name for name in self.reading.columns if self.families[name] in ("words", "category")]
        n = 0
        for first, batch in _ahead(file.batches(self.reading.columns, words, self.sizes.batch)):
            found.add(self.reading, file.path, file.place, first, batch)
            n += batch.num_rows
        if not n:
            raise BadFileError(file.path, "has no rows")
        return found

    def held_out(self, share: float) -> pa.Table:
        """The rows left for a test, or this share of them, not coded."""
        found = []
        for file in self.files:
            for first, batch in file.batches(self.reading.columns, (), self.sizes.batch):
                kept = self.reading.test_rows(file.place, first, batch.num_rows, share)
                part = pa.Table.from_batches([batch.filter(pa.array(kept))])
                found.append(columns_of.alike(part, self.families, self.reading.features))
        return pa.concat_tables(found, promote_options="permissive")

    def leave_out(self, paths: Sequence[str]) -> None:
        """Leave out some files from here on."""
        self.files = [file for file in self.files if file.path not in set(paths)]

    def learn(self, coding: Coding, sizes: Sizes) -> None:
        """Take the rules by which all rows are coded, and how many are held."""
        self._coder, self.sizes = Coder(coding), sizes

    def evaluate(
        self, weights: Floats, shift: Floats, class_weight: Floats, costs: Floats, n_cells: int, with_pairs: bool
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """One pass: loss, table, sums of F_j F_l x by cell and pair, and the slopes, as `add_pass` says."""
        coder = self._coder
        assert coder is not None, "rules come first"
        m, width = len(class_weight), weights.shape[1] + 1
        table = np.zeros((n_cells, m))
        pairs = np.zeros((n_cells * (m * (m - 1) // 2) if with_pairs else 0, width))
        slopes = np.zeros((len(weights), width))
        loss = 0.0
        for rows in _ahead(self._rows(coder)):
            loss += add_pass(*rows, weights, shift, class_weight, costs, table, pairs, slopes)
        return np.array(loss), table, pairs, slopes

    def _rows(self, coder: Coder) -> Iterator[Rows]:
        """All rows in order, in two pieces of memory that take turns."""
        memory = [Rows.empty(self.sizes.batch, coder.coding) for _ in range(2)]
        turn, in_order = 0, np.arange(self.sizes.batch)
        for file in self.files:
            for batch, target in self._coded_batches(coder, file, -1):
                coder.fill(file.path, batch, target, memory[turn], in_order[: len(target)])
                yield memory[turn].part(0, len(target))
                turn = 1 - turn

    def _coded_batches(self, coder: Coder, file: SourceFile, unit: int) -> Iterator[tuple[pa.RecordBatch, Ints]]:
        """The batches of a file, or a unit of it, with their labels."""
        words = [*coder.words, *(n for n in self._labels if self.families[n] in ("words", "category"))]
        for first, batch in file.batches(coder.columns, list(dict.fromkeys(words)), self.sizes.batch, unit):
            kept = self.reading.kept(file.place, first, batch.num_rows)
            part, target = coder.rows_of(file.path, batch if kept is None else batch.filter(pa.array(kept)))
            if len(target):
                yield part, target

    @property
    def _labels(self) -> tuple[str, ...]:
        return (self.reading.target, *self.reading.sensitive)

    def advance(
        self, pace: Pace, tables: Tables, at: Progress, seed: int, epoch: int, block: int, taken: int, cut: int
    ) -> tuple[Progress | None, int, Progress | None]:
        """Step through one block of an epoch; return where that led, the steps, and the state after step `cut`.

        Which rows a block holds, and in which order, depends on the seed, the epoch and the files alone. Beyond the
        last block of the epoch nothing is returned.
        """
        found = self._block(seed, epoch, block)
        if found is None:
            return None, 0, None
        rows, order = found
        loop, most = TableLoop(pace, tables), len(order)
        X = (rows.numbers, rows.codes)
        if not taken < cut <= taken + -(-len(order) // pace.batch):
            after, count = loop.advance(at, X, rows.target, rows.cells, order, taken, most)
            return after, count, None
        middle, before = loop.advance(at, X, rows.target, rows.cells, order, taken, cut - taken)
        rest = order[before * pace.batch :]
        if not len(rest):
            return middle, before, middle
        after, count = loop.advance(middle, X, rows.target, rows.cells, rest, taken + before, most)
        return after, before + count, middle

    def _block(self, seed: int, epoch: int, block: int) -> tuple[Rows, Ints] | None:
        """A block of an epoch: the next one mostly; after an interruption those before are read and left."""
        if self._epoch is None or self._epoch[:2] != (epoch, block):
            self._epoch = (epoch, 0, _ahead(self._blocks(seed, epoch)))
        _, at, blocks = self._epoch
        found = None
        for _ in range(block - at + 1):
            found = next(blocks, None)
        self._epoch = (epoch, block + 1, blocks)
        return found

    def _blocks(self, seed: int, epoch: int) -> Iterator[tuple[Rows, Ints]]:
        """The rows of an epoch in shuffled blocks, each with the order to take them in.

        Row groups are drawn in a random order and read in a few places at a time; a block is shuffled as a whole while
        it is filled: its rows are then read one after the other.
        """
        coder, size = self._coder, self.sizes.block
        assert coder is not None, "rules come first"
        rng = np.random.default_rng([seed, epoch])
        units = [(file, unit) for file in self.files for unit in file.units()]
        memory, in_order = [Rows.empty(size, coder.coding) for _ in range(2)], np.arange(size)
        turn, filled, places = 0, 0, shuffled(size, rng)
        for file, batch, target in self._mixed(coder, [units[k] for k in rng.permutation(len(units))]):
            done = 0
            while done < len(target):
                n = min(len(target) - done, size - filled)
                where = places[filled : filled + n]
                coder.fill(file.path, batch.slice(done, n), target[done : done + n], memory[turn], where)
                done, filled = done + n, filled + n
                if filled == size:
                    yield memory[turn], in_order
                    turn, filled, places = 1 - turn, 0, shuffled(size, rng)
        if filled:
            yield memory[turn], np.sort(places[:filled])

    def _mixed(
        self, coder: Coder, units: Sequence[tuple[SourceFile, int]]
    ) -> Iterator[tuple[SourceFile, pa.RecordBatch, Ints]]:
        """The batches of all units, from a few of them in turn."""
        waiting = iter(units)
        lanes: list[tuple[SourceFile, Iterator[tuple[pa.RecordBatch, Ints]]]] = []
        while True:
            while len(lanes) < _LANES and (unit := next(waiting, None)) is not None:
                lanes.append((unit[0], self._coded_batches(coder, *unit)))
            if not lanes:
                return
            for lane in list(lanes):
                found = next(lane[1], None)
                if found is None:
                    lanes.remove(lane)
                else:
                    yield lane[0], *found


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """Make each item on another thread while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
