"""``compare``: a service with the OpenAPI document, with the assumptions, and request by request with the emulator."""

from __future__ import annotations

import click

from emulator.cli.groups import LazyGroup


@click.group(
    cls=LazyGroup,
    table={
        "document": ("document:document", "Check the server at URL against the OpenAPI document."),
        "service": ("service:service", "Find out which assumptions hold at the service at URL."),
        "traffic": ("traffic:traffic", "Compare the real service with the emulator, request by request."),
    },
)
def compare() -> None:
    """Compare a service with the document, with the assumptions, and with the emulator.

    \b
    payments-emulator compare document
    payments-emulator compare service https://sandbox.example.com --key sk_test_mine --out profile.yaml
    payments-emulator compare traffic --upstream https://sandbox.example.com -- npm test
    """
