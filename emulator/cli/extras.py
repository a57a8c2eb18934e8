"""Extras: what some commands need and a plain installation leaves out."""

from __future__ import annotations

import importlib.util

import click


def require_extra(extra: str, module: str) -> None:
    """Raises ``ClickException``, which says what to install, where the module of an extra is not there."""
    if importlib.util.find_spec(module) is None:
        raise click.ClickException(f"this needs the extra '{extra}': pip install 'payments-emulator[{extra}]'")
