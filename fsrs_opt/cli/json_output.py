"""JSON on stdout: the bytes of one object and nothing else."""

from __future__ import annotations

from typing import Any

import click


def print_json(value: dict[str, Any]) -> None:
    """One strict JSON object, in UTF-8 whatever the terminal's encoding is."""
    from fsrs_opt.commands.as_json import dumps

    click.echo(dumps(value), nl=False)
