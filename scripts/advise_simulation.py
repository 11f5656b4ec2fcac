"""How often `advise` divides what belongs together, and finds what does not.

    python scripts/advise_simulation.py LOG LOG ... [--seeds 20] [--sizes 1000,4000]

LOG is any file that fsrs-opt reads, or a folder of them, each the reviews of one person. Logs with fewer than
`--smallest` items are left out. For each size random cards with about so many items are drawn from a log (all
of its cards where it has fewer), anew for each seed:

- two people: a collection of two decks, the cards of two people, so many items from each: is it divided?
- one person: the cards of one person dealt at random to 2, 5 or 10 decks: is it left as one?
- two people, three decks each: random cards of two people, each dealt to three decks: is it divided at all,
  and exactly between the people?

The figures in docs/advise.md come from here. Nothing of the logs is written anywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from simulated_decks import Units, divided, put_together
from simulated_outcomes import some_cards

from fsrs_opt.errors import FsrsOptError
from fsrs_opt.evaluation.group_fits import GroupFits
from fsrs_opt.evaluation.split_or_merge import Division, split_or_merge
from fsrs_opt.reviews.history import Histories, histories
from fsrs_opt.sources import read
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit

PARTS = ("two", "one", "six")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("logs", nargs="+", type=Path)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--sizes", default="1000,4000")
    options.add_argument("--smallest", type=int, default=500)
    options.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    chosen = options.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    people = [h for h in map(reviews, files(chosen.logs)) if h and items(h) >= chosen.smallest]
    people.sort(key=items)
    for k, h in enumerate(people):
        later = h.delta_t > 0
        print(f"person {k + 1}: {items(h):,} items, {100 * np.mean(h.rating[later] > 1):.0f} % recalled")
    seeds = range(chosen.seeds)
    for part in chosen.parts.split(","):
        {"two": two_people, "one": one_person, "six": six_decks}[part](people, sizes, seeds)


def two_people(people: Sequence[Histories], sizes: Sequence[int], seeds: range) -> None:
    """Two decks of two people: by pair, in percent of the seeds."""
    print("\ntwo people, a deck each: divided (%)\n")
    print(f"| people | {' | '.join(f'{size:,} items each' for size in sizes)} | all items |")
    print(f"| --- |{' --- |' * (len(sizes) + 1)}")
    totals = np.zeros(len(sizes) + 1)
    pairs = list(combinations(range(len(people)), 2))
    for a, b in pairs:
        rates = [
            np.mean(
                [
                    len(advised(*put_together(some(people[a], size, seed), some(people[b], size, seed)), 2))
                    > 1
                    for seed in seeds
                ]
            )
            for size in sizes
        ]
        rates.append(float(len(advised(*put_together(people[a], people[b]), 2)) > 1))
        totals += rates
        print(f"| {a + 1} and {b + 1} | {cells(rates)} |", flush=True)
    print(f"| mean of {len(pairs)} pairs | {cells(totals / len(pairs))} |", flush=True)


def one_person(people: Sequence[Histories], sizes: Sequence[int], seeds: range) -> None:
    """The decks of one person, dealt at random: how often they are divided all the same."""
    print("\none person, decks dealt at random: divided, of so many\n")
    print(f"| decks | {' | '.join(f'{size:,} items' for size in sizes)} | all items |")
    print(f"| --- |{' --- |' * (len(sizes) + 1)}")
    for n_decks in (2, 5, 10):
        row = []
        for size in [*sizes, *([None] if n_decks == 2 else [])]:
            found = [
                advised(h, divided(h, n_decks, seed), n_decks)
                for person in people
                for seed in seeds
                for h in [person if size is None else some(person, size, seed)]
            ]
            row.append(f"{sum(len(one) > 1 for one in found)} of {len(found)}")
        row += ["-"] * (len(sizes) + 1 - len(row))  # hours, for the larger numbers of decks
        print(f"| {n_decks} | {' | '.join(row)} |", flush=True)


def six_decks(people: Sequence[Histories], sizes: Sequence[int], seeds: range) -> None:
    """Three decks of each of two people: a random pair for each seed."""
    print("\ntwo people, three decks each: a random pair for each seed\n")
    print("| items of each person | divided | exactly between the people | a deck with the wrong person |")
    print("| --- | --- | --- | --- |")
    truth = ([0, 1, 2], [3, 4, 5])
    for size in sizes:
        split = exact = mixed = 0
        for seed in seeds:
            a, b = np.random.default_rng(seed).choice(len(people), 2, replace=False)
            h, person = put_together(some(people[a], size, seed), some(people[b], size, seed))
            groups = [sorted(group) for group in advised(h, 3 * person + divided(h, 3, seed), 6)]
            split += len(groups) > 1
            exact += sorted(groups) == list(truth)
            mixed += len(groups) > 1 and any(min(group) < 3 <= max(group) for group in groups)
        print(f"| {size:,} | {split} of {len(seeds)} | {exact} | {mixed} |", flush=True)


def advised(h: Histories, unit: Units, n_units: int) -> Division:
    """The groups that are suggested."""
    return split_or_merge(GroupFits(training_set(h), unit, fit), n_units).groups


def some(h: Histories, size: int, seed: int) -> Histories:
    return h if items(h) <= size else some_cards(h, size, seed)


def items(h: Histories) -> int:
    return int(np.count_nonzero(h.delta_t > 0))


def files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.iterdir()) if path.is_dir() else [path]


def reviews(path: Path) -> Histories | None:
    """The histories of a log, None where the file is none."""
    try:
        collection = read(path)
    except FsrsOptError:
        return None
    return histories(collection.log, collection.day.day_of)


def cells(rates: Sequence[float]) -> str:
    return " | ".join(f"{100 * rate:.0f}" for rate in rates)


if __name__ == "__main__":
    main()
