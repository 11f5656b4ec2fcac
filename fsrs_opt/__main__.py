"""`python -m fsrs_opt` is `fsrs-opt`."""

from fsrs_opt.cli.main import main

if __name__ == "__main__":
    main()
