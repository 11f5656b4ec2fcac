"""What Anki does when its user clicks Optimize, without the window: open the collection, ask its backend.

Usage: anki_command.py COLLECTION.anki2

Opens the file for writing, as Anki does: give it a copy. Runs in a Python with the `anki` package.
"""

from __future__ import annotations

import sys

from anki.collection import Collection


def main() -> None:
    collection = Collection(sys.argv[1])
    found = collection._backend.compute_fsrs_params(
        search="",
        current_params=[],
        ignore_revlogs_before_ms=0,
        num_of_relearning_steps=1,
        health_check="--health-check" in sys.argv,
    )
    print(found.fsrs_items, "items")
    print(", ".join(f"{value:.4f}" for value in found.params))
    collection.close()


if __name__ == "__main__":
    main()
