"""``compare``: a service with the OpenAPI document and with the assumptions."""

from __future__ import annotations

import click

from emulator.cli.groups import LazyGroup


@click.group(cls=LazyGroup, table={"document": "document", "service": "service"})
def compare() -> None:
    """Compare a service with the document and with the assumptions.

    \b
    payments-emulator compare document
    payments-emulator compare service https://api.example.com --key sk_test_mine
    """
