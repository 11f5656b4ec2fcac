"""What passes between a job, its workers and its book: plain values, and nothing of a file but its path."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

SPLITS: Final = ("none", "deck", "preset")

WAITING, DONE, FAILED = "waiting", "done", "failed"


@dataclass(frozen=True)
class Options:
    """How each task is fitted: the options of `fsrs_opt.optimize`; deck to suspended, those of
    `fsrs_opt.sources.select`; evaluate: five more fits for held-out figures and a held-out verdict. The same
    options have the same `key`, whatever the program's version."""

    recipe: str = "map"
    stages: tuple[str, ...] = ("pretrain", "train", "finetune")
    current: tuple[float, ...] | None = None
    relearning_steps: int | None = None
    short_term: bool = True
    ignore_before: str | None = None
    timezone: str | None = None
    day_start: str | None = None
    device: str = "cpu"
    kernel: str | None = None
    evaluate: bool = False
    deck: tuple[str, ...] = ()
    preset: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    exclude_flag: tuple[int, ...] = ()
    suspended: bool | None = None

    @property
    def selection(self) -> dict[str, Any]:
        """The arguments of `fsrs_opt.sources.select`."""
        names = ("deck", "preset", "tag", "exclude_flag", "suspended")
        return {name: getattr(self, name) for name in names}

    @property
    def key(self) -> str:
        """The options that are not the usual ones, as JSON."""
        mine, usual = vars(self), vars(Options())
        return json.dumps({name: mine[name] for name in mine if mine[name] != usual[name]}, sort_keys=True)


@dataclass(frozen=True)
class Task:
    """A file (or one user's folder) to be done.

    path: absolute, or a URL. name: the path below the folder that was given. size: bytes. stamp: tells
    without reading it whether the file may have changed, "" where that is not to be relied on.
    """

    path: str
    name: str
    size: int
    stamp: str


@dataclass(frozen=True)
class Order:
    """What a worker is asked to do.

    split: one of `SPLITS`. content: the hash of which there are results already, "" for none; done: the
    selections that these cover. Only what is missing is computed, all of it where the content is another.
    """

    task: Task
    split: str
    options: Options
    content: str = ""
    done: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """The result of one selection of a file.

    selection: the id of the deck or preset as text, "" for the whole file; name: what it is called. status:
    DONE or FAILED, with the reason in `error`. parameters [21]: the fitted ones; decision: "change" or
    "keep" against those in use. metrics, counts: as of `optimize --json`; metrics by "in_sample" and
    "held_out", then by model. seconds: by step.
    """

    selection: str
    name: str
    status: str
    error: str = ""
    parameters: tuple[float, ...] | None = None
    decision: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of an order: the content that was read, "" where it could not be, and a row for each
    selection that was computed. kept: the selections whose earlier rows still hold."""

    order: Order
    content: str
    rows: tuple[Row, ...]
    kept: tuple[str, ...] = ()
    version: str = ""

    @property
    def reviews(self) -> int:
        """Rows of the review logs that were worked on."""
        return sum(row.counts.get("revlog_rows", 0) for row in self.rows)


class Engine(Protocol):
    """Something that carries out orders."""

    def run(self, orders: list[Order]) -> Generator[Outcome | None, None, None]:
        """The outcomes in the order in which they are ready, and None about twice a second while nothing is.

        Closing the iterator stops all work at once.
        """


def failed(order: Order, why: str, *, content: str = "", version: str = "") -> Outcome:
    """The outcome of an order that failed as a whole; what is known of the same content is kept."""
    row = Row("", "", FAILED, error=" ".join(why.split()))
    same = not content or content == order.content
    return Outcome(order, content, (row,), kept=order.done if same else (), version=version)
