"""``test``: the examinations of an application, its tests, its receiver and its client."""

from __future__ import annotations

import click

from emulator.cli.groups import LazyGroup


@click.group(
    cls=LazyGroup,
    table={name: name for name in ("app", "suite", "receiver", "client")}
    | {"all": "all:all_four", "scenario": "app:app_scenario"},
)
def test() -> None:
    """Test an application, its tests, its receiver and its client.

    \b
    payments-emulator test app -- python buy.py
    payments-emulator test suite -- pytest -x
    payments-emulator test receiver http://localhost:3000/webhooks
    payments-emulator test all --app 'python buy.py' -- pytest -x

    First run 'test client', which looks at requests that were sent already, next 'test app', then
    the others.

    Exit status 1 if something was found, 3 if a --budget ended before all was tried.
    """
