"""fsrs-opt: fits the parameters of FSRS to a review log."""

__version__ = "0.1.0"
