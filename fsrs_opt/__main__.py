"""`python -m fsrs_opt` is `fsrs-opt`: where the program starts."""

from __future__ import annotations

import sys


def main() -> None:
    """The program. Ctrl-C ends it quietly from the first moment, while it is still being loaded too."""
    try:
        from fsrs_opt.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
