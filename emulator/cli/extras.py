"""Extras: optional dependencies of some commands."""

from __future__ import annotations

import importlib.util

import click


def require_extra(extra: str, module: str) -> None:
    """Raise ``ClickException``, which says what to install, if the module of an extra is missing."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # of a submodule: there is no such package
        found = None
    if found is None:
        raise click.ClickException(f"this needs the extra '{extra}': pip install 'payments-emulator[{extra}]'")
