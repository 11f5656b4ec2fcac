"""Whether a report can be made, and where: asked before any long work, so nothing heavy is loaded here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fsrs_opt.atomic_file import check_target
from fsrs_opt.errors import FsrsOptError, UsageError

FORMATS = ("svg", "png")
"""How pictures can be written to files."""


def default_target(source: Path) -> Path:
    """The page of a file, in the folder one is in: `sample.colpkg` gives `sample-report.html`."""
    return Path(f"{source.stem or 'fsrs'}-report.html")


def check(
    target: Path, source: Path | None, *, force: bool, plots: Path | None = None, form: str = FORMATS[0]
) -> None:
    """Whether the page and a folder of pictures can be written.

    force: what is there may be replaced. plots: the folder, which is made where it does not exist.
    Raises UsageError for a target that will not do, FsrsOptError where a library is missing.
    """
    if any(find_spec(name) is None for name in ("matplotlib", "jinja2")):
        raise FsrsOptError(
            'the report needs two more packages, matplotlib and jinja2: pip install "fsrs-opt[report]"'
        )
    check_target(target, source, force=force)
    if form not in FORMATS:
        raise UsageError(f"pictures are written as {' or '.join(FORMATS)}, not as {form!r}")
    if plots is None:
        return
    if not plots.exists() and not plots.parent.is_dir():
        raise UsageError(f"the folder {plots.parent} does not exist: make it first")
    if plots.exists() and not plots.is_dir():
        raise UsageError(f"{plots} is not a folder: give the name of a folder for the pictures")
    if plots.exists() and not force and any(plots.iterdir()):
        raise UsageError(
            f"the folder {plots} is not empty: give another, or --force to replace pictures in it"
        )


def check_picture(target: Path, source: Path | None, *, force: bool) -> None:
    """Whether one picture can be written. Errors as of `check`."""
    if picture_format(target) not in FORMATS:
        raise UsageError(f"{target} is no picture: give a name that ends with .{' or .'.join(FORMATS)}")
    if find_spec("matplotlib") is None:
        raise FsrsOptError('a picture needs one more package, matplotlib: pip install "fsrs-opt[report]"')
    check_target(target, source, force=force)


def picture_format(target: Path) -> str:
    """What a picture's name says that it is, e.g. "png"."""
    return target.suffix.lower().removeprefix(".")
