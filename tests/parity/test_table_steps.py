"""The loop over rows in compact form takes the steps of Algorithm 1 on the same rows, dense."""

from __future__ import annotations

import numpy as np
import pytest

from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers._loop import Loop
from fermi.linear.table_loop import Pace, Progress, TableLoop, Tables


@pytest.mark.parametrize(("m", "batch", "radius"), [(2, 1, np.inf), (2, 7, np.inf), (3, 16, np.inf), (4, 5, 0.3)])
def test_compact_rows_take_the_steps_of_dense_ones(m: int, batch: int, radius: float) -> None:
    rng = np.random.default_rng(m)
    n, p, levels, Z, k = 200, 3, 4, 2, 3
    numbers, code = rng.normal(size=(n, p)), rng.integers(0, levels + 1, n)  # the last says nothing
    width = p + levels
    X = np.hstack([numbers, np.eye(levels + 1)[code] * (np.arange(levels + 1) < levels)])
    target, cells = rng.integers(0, m, n), rng.integers(-1, Z * k, n)
    scale = np.append(rng.uniform(0.5, 2.0, width), 1.0)
    design = Design(X, np.zeros(width + 1), scale, True, m, (X**2).mean(axis=0))
    term = Term.of(Cells(cells, (Z, k), np.ones(n)))
    objective = FairObjective(target, np.full(n, 1 / n), (term,), 2.0)
    loop = Loop(design, objective, l2=0.1, batch=batch, radius=radius, averaged=False)
    state = loop.start(np.zeros(design.shape), None)
    eta, eta_w, order = np.full(-(-n // batch), 0.05), np.full(-(-n // batch), 0.1), rng.permutation(n)
    loop.advance(state, order, eta, eta_w)

    zone, share = np.repeat(np.arange(Z), k), np.full(Z * k, 1.0 / (cells >= 0).sum())
    tables = Tables(zone, term.prior.ravel(), share, np.full(m, 1 / n), n)
    pace = Pace(design, 0.05, 0.1, 2.0, 0.1, batch, radius, len(eta), False)
    logits = 1 if m == 2 else m
    zeros = np.zeros((logits, width + 1)), np.zeros(logits)
    start = Progress(*zeros, np.zeros((Z * k, m)), *zeros)
    codes = (p + code)[:, None].astype(np.int32)
    at, steps = TableLoop(pace, tables).advance(start, (numbers, codes), target, cells[None], order, 0, 10**6)
    assert steps == len(eta)
    np.testing.assert_allclose((at.theta * scale)[:, :width], state.theta[:, :width], atol=1e-12)
    np.testing.assert_allclose(at.b, state.b, atol=1e-12)
    np.testing.assert_allclose(at.W.reshape(Z, k, m), loop.duals(state)[0], atol=1e-12)
    half, done = TableLoop(pace, tables).advance(start, (numbers, codes), target, cells[None], order, 0, 11)
    rest, _ = TableLoop(pace, tables).advance(
        half, (numbers, codes), target, cells[None], order[done * batch :], done, 10**6
    )
    np.testing.assert_allclose(rest.theta, at.theta, atol=1e-12)
