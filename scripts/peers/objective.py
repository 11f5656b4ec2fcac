"""J at our parameters, at those of fsrs-rs, and at the best that a long search finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, FloatArray, bounds, clip
from fsrs_opt.training.fit import fit
from fsrs_opt.training.objective import Objective
from fsrs_opt.training.recipes import map_objective
from fsrs_opt.training.solver import Solver
from fsrs_opt.training.step import training_step
from fsrs_opt.training.trust_region import to_w, to_z
from peers.fits import RUST_5, RUST_IDS_5, fits
from peers.log_files import LogFile
from peers.report import Check, Table, number

EXCESS_ALLOWED = 1e-4
PEERS = (RUST_IDS_5, RUST_5)
_PASSES = 150  # at most, of each search
_FIRST_PROMISE, _LAST_PROMISE = 1e-4, 1e-6  # nats, below the solver's own: of all starts, then of the best
_POLISHED = 3
_NEAR, _FAR = 0.3, 2.0  # spread of the starts in the solver's coordinates, in which the prior's is about 1


@dataclass(frozen=True)
class Row:
    """J by whose parameters it is (None: it failed, see `errors`), and the passes that ours took."""

    log: str
    items: int
    ours: float
    peers: dict[str, float | None]
    best: float
    starts: int
    passes: int
    errors: dict[str, str]

    @property
    def excess(self) -> float:
        """How far ours lies above the best known minimum, relative to it (negative: below all others)."""
        return (self.ours - self.best) / self.best


def measure(file: LogFile, n_starts: int, python: str) -> Row:
    """J is always computed in float64; the kernel that training uses serves the first part of the search."""
    exact, fast = map_objective(file.data, kernel="torch"), map_objective(file.data)
    ours = fit(file.data)
    theirs = dict(
        zip(PEERS, fits(file.data, [(peer, len(file.data)) for peer in PEERS], python), strict=True)
    )
    brought_in = {
        peer: _brought_in(got.parameters) for peer, got in theirs.items() if got.parameters is not None
    }
    starts = [DEFAULTS, ours.parameters, *brought_in.values(), *_random_starts(ours.parameters, n_starts)]
    ends = sorted((_minimum(fast, w, _FIRST_PROMISE) for w in starts), key=lambda end: end[0])
    polished = [_polished(exact, w) for _, w in ends[:_POLISHED]]
    return Row(
        log=file.name,
        items=len(file.data),
        ours=_value(exact, ours.parameters),
        peers={str(peer): _value(exact, brought_in[peer]) if peer in brought_in else None for peer in PEERS},
        best=min(polished),
        starts=len(starts),
        passes=sum(stage.passes for stage in ours.stages),
        errors={str(peer): got.error for peer, got in theirs.items() if got.parameters is None},
    )


def _brought_in(w: FloatArray) -> FloatArray:
    """Somebody else's parameters inside our ranges, w0..w3 as they are."""
    return np.concatenate([w[:N_INITIAL_STABILITIES], clip(w, given=True)[N_INITIAL_STABILITIES:]])


def _value(objective: Objective, w: FloatArray) -> float:
    return objective.evaluate(w).loss


def _random_starts(centre: FloatArray, n: int) -> list[FloatArray]:
    """A third near our end, a third far around the defaults, a third anywhere in the box."""
    rng = np.random.default_rng(0)
    low, high = (to_z(w) for w in bounds())
    starts = []
    for k in range(n):
        if k % 3 == 0:
            z = to_z(centre) + _NEAR * rng.normal(size=len(low))
        elif k % 3 == 1:
            z = to_z(DEFAULTS) + _FAR * rng.normal(size=len(low))
        else:
            z = rng.uniform(low, high)
        starts.append(to_w(z))
    return starts


def _minimum(objective: Objective, start: FloatArray, promise: float) -> tuple[float, FloatArray]:
    """J and parameters where the solver ends that begins at `start`, brought into the ranges and in order."""
    w = clip(start)
    w[:N_INITIAL_STABILITIES] = np.sort(w[:N_INITIAL_STABILITIES])
    model = FSRS6()
    with torch.no_grad():
        model.w.copy_(torch.from_numpy(w))
    solver = Solver(model, max_passes=_PASSES, promise=promise)
    while not solver.done:
        training_step(model, objective, solver)
    return solver.objective, model.parameters_array()


def _polished(objective: Objective, start: FloatArray) -> float:
    """J at the minimum near `start`: the solver begun anew, with a new matrix, until that gains nothing."""
    best, w = np.inf, start
    while True:
        value, w = _minimum(objective, w, _LAST_PROMISE)
        if not value < best - _LAST_PROMISE:
            return min(best, value)
        best = value


def table(rows: list[Row]) -> Table:
    header = [
        "log",
        "items",
        "ours",
        *(str(peer) for peer in PEERS),
        "best found",
        "ours above best",
        "passes",
    ]
    lines, notes = [], []
    for row in rows:
        cells = []
        for peer, value in row.peers.items():
            cells.append("fails" if value is None else number(value, 3))
            if value is None:
                notes.append(f"{row.log}, {peer}: {row.errors[peer]}")
        lines.append(
            [row.log, f"{row.items:,}", number(row.ours, 3), *cells, number(row.best, 3), f"{row.excess:.1e}",
             str(row.passes)]
        )  # fmt: skip
    return Table("Objective J (lower is better)", header, lines, notes)


def checks(rows: list[Row]) -> list[Check]:
    found = []
    for peer in map(str, PEERS):
        worse = [row.log for row in rows if row.peers[peer] is None or not row.ours <= row.peers[peer]]
        text = f"J of ours is at most that of {peer} on {len(rows)} logs"
        found.append(Check(text, not worse, f"not on {', '.join(worse)}" if worse else ""))
    most = max(rows, key=lambda row: row.excess)
    text = f"J of ours is within {EXCESS_ALLOWED:.0e} of the best found on {len(rows)} logs"
    return [
        *found,
        Check(text, most.excess <= EXCESS_ALLOWED, f"at most {most.excess:.1e} above, on {most.log}"),
    ]
