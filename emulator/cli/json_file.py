"""JSON files that commands are given."""

from __future__ import annotations

import json
from typing import Any

import click


def read_json(content: bytes, name: str) -> Any:
    """The value in a file. Raises ``ClickException`` for what is no JSON, or is nested too deeply to be read."""
    try:
        return json.loads(content)
    except RecursionError:
        raise click.ClickException(f"{name}: is nested too deeply") from None
    except ValueError as error:
        raise click.ClickException(f"{name}: is not JSON: {error}") from None
