"""Parameters that the peers fit to the first items of a log, each in a process of its own Python."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fsrs_opt.model.parameters import N_PARAMETERS, FloatArray
from fsrs_opt.training.data import TrainingSet

WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Peer:
    """A peer and how it is called. peer: "fsrs-rs" or "FSRS-Optimizer" (which knows no card ids)."""

    peer: str
    epochs: int
    card_ids: bool = False

    def __str__(self) -> str:
        if self.peer != "fsrs-rs":
            return self.peer
        return f"fsrs-rs, {'ids' if self.card_ids else 'no ids'}, {self.epochs} epochs"


RUST_IDS_5 = Peer("fsrs-rs", 5, card_ids=True)
RUST_IDS_8 = Peer("fsrs-rs", 8, card_ids=True)
RUST_5 = Peer("fsrs-rs", 5)
OPTIMIZER = Peer("FSRS-Optimizer", 5)


@dataclass(frozen=True)
class Fit:
    """What a peer gave: parameters [21], or why there are none."""

    parameters: FloatArray | None
    error: str = ""


def fits(data: TrainingSet, wanted: Sequence[tuple[Peer, int]], python: str) -> list[Fit]:
    """Fit each peer to the first n items of `data`. wanted: pairs (peer, n). python: of the peers.

    A fit that ends its whole process costs only itself: the rest is asked for again.
    """
    done: list[Fit] = []
    with tempfile.TemporaryDirectory() as folder:
        past, requests, results = (Path(folder) / name for name in ("past.npz", "ask.json", "got.jsonl"))
        h, items = data.histories, data.items
        np.savez(
            past,
            card_id=h.card_id,
            offsets=h.offsets,
            review_time=h.review_time,
            rating=h.rating,
            delta_t=h.delta_t,
            review=items.review,
            card=items.card,
        )
        while len(done) < len(wanted):
            asked = [{**asdict(peer), "n_items": n} for peer, n in wanted[len(done) :]]
            requests.write_text(json.dumps(asked), encoding="utf-8")
            results.write_text("", encoding="utf-8")
            run = subprocess.run(
                [python, WORKER, past, requests, results],
                env={**os.environ, "TQDM_DISABLE": "1", "MPLBACKEND": "Agg"},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            lines = results.read_text(encoding="utf-8").splitlines()
            done += [_fit(json.loads(line)) for line in lines]
            if len(lines) < len(asked):
                said = run.stderr.strip().splitlines() or ["no message"]
                done.append(Fit(None, f"its process ended with code {run.returncode}: {said[-1]}"))
    return done


def _fit(result: dict[str, object]) -> Fit:
    if "error" in result:
        return Fit(None, str(result["error"]))
    parameters = np.asarray(result["parameters"], dtype=np.float64)
    if parameters.shape != (N_PARAMETERS,) or not np.isfinite(parameters).all():
        return Fit(None, f"it gave no {N_PARAMETERS} finite parameters")
    return Fit(parameters)
