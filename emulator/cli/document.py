"""``compare document``: check any server of the API against the OpenAPI document."""

from __future__ import annotations

from typing import Any

import click

from emulator.cli.options import DEFAULT_URL, SEED, Integer, option, require_extra
from emulator.cli.output import ReportOutput, TerminalLine, with_report
from emulator.cli.service import reject_live_key, service_url


@click.command()
@click.argument("url", default=DEFAULT_URL)
@option(
    "--key",
    default="sk_test_check",
    metavar="KEY",
    help="Secret key of a test App; its data is deleted.",
)
@click.option(
    "--examples",
    type=Integer(1, 10_000),
    default=10,
    show_default=True,
    help="Random requests per operation.",
)
@click.option("--seed", type=SEED, help="Seed, to repeat the same requests.")
@click.option(
    "--receiver",
    metavar="URL",
    help="A webhook receiver that the server can reach. [default: one started here]",
)
@with_report
def document(
    *,
    url: str,
    key: str,
    examples: int,
    seed: int | None,
    receiver: str | None,
    output: ReportOutput,
) -> int:
    """Check the server at URL against the OpenAPI document.

    \b
    payments-emulator compare document
    payments-emulator compare document https://sandbox.example.com --examples 50

    Generates valid and invalid requests for every operation, follows links, and runs all checks on
    every response. Only /v1 is used, so the server need not be this emulator. Uses the server's
    document at /openapi.json if there is one, otherwise the one included here. Takes about a
    minute; use fewer --examples to shorten it. Exit status 1 if a response violates the document.
    """
    require_extra("check", "schemathesis")
    reject_live_key(url, key)
    base_url, document = server_and_document(url)
    # Imported here: schemathesis is an extra, and slow to import; the help needs no random names.
    import secrets

    from emulator.checks.document.links import headers
    from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
    from emulator.checks.document.suite import Suite

    line = TerminalLine()
    with webhook_receiver() as own:
        objects = ObjectFactory(base_url, headers(key), receiver or own.url, secrets.token_hex(4))
        try:
            suite = Suite(document, base_url, key, examples, seed, objects)
            results = suite.run(lambda checked: line.show(f"checking {checked}"))
        finally:
            line.end()
    return output.show(results.report())


def server_and_document(url: str) -> tuple[str, dict[str, Any]]:
    """Return where the API is, and the server's document or the shipped one."""
    from emulator.checks.document.links import is_usable
    from emulator.client.connections import ConnectionFailed, Connections, Timeouts
    from emulator.client.messages import ApiRequest
    from emulator.document import bundles

    url = service_url(url)
    try:
        with Connections(url, Timeouts(connect=30, response=30)) as connections:
            document = connections.exchange(ApiRequest("GET", "/openapi.json")).json()
    except ConnectionFailed as error:
        raise click.ClickException(f"{url} cannot be reached: {error}") from None
    except ValueError:
        document = None
    return f"{url}/v1", document if is_usable(document) else bundles.load("service")
