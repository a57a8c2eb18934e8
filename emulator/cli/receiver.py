"""``test receiver``: send valid and invalid deliveries to a receiver, report its responses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.listen import destination
from emulator.cli.options import DEFAULT_KEY, ID, Number, option
from emulator.cli.output import ReportOutput, with_report
from emulator.cli.runs import ProgressLine
from emulator.core.limits import RECEIVER_SECONDS

if TYPE_CHECKING:
    from emulator.checks.report import Report


METHODS = ("HMAC_SHA256", "JWT", "BASIC")


@click.command()
@click.argument("receiver_url")
@option(
    "--secret",
    metavar="SECRET",
    help="Secret that signs the deliveries; configure the same one in your receiver.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default=METHODS[0],
    show_default=True,
    help="Signing method of the endpoint.",
)
@click.option("--webhook", type=ID, help="Id of the endpoint; with BASIC it is the user name.")
@click.option(
    "--timeout",
    type=Number(0, 60, min_open=True),
    default=RECEIVER_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time the receiver has for each response.",
)
@click.option(
    "--ssl-verification/--no-ssl-verification",
    default=True,
    help="Whether the certificate must be valid.",
)
@option(
    "--url",
    metavar="URL",
    help="URL of the emulator from which the receiver reads objects, if it does.",
)
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App there.")
@option("--control-token", metavar="TOKEN", help="Control token that it was started with, if any.")
@with_report
def receiver(
    receiver_url: str,
    *,
    timeout: float,
    url: str | None,
    key: str,
    control_token: str | None,
    output: ReportOutput,
    **signing: Any,
) -> int:
    """Test a webhook receiver with valid and invalid deliveries.

    \b
    export PAYMENTS_EMULATOR_SECRET=whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c
    payments-emulator test receiver http://localhost:3000/webhooks
    payments-emulator test receiver https://test.example.com/webhooks --method JWT
    payments-emulator test receiver localhost:3000/hooks --method BASIC \\
        --webhook wh_5Tn8cV2bX6

    Events of every type are sent as the service sends them: valid, forged, expired, repeated, out
    of order, slowly, large. Configure any shared secret on both sides. Without --url no emulator
    needs to run, and the customers and payments of the events cannot be read; with it they are
    created there. Use a test instance. Exit status 1 if a check fails.
    """
    receiver_url = destination(receiver_url, "'RECEIVER_URL'")
    with _emulator(url, key, control_token) as elsewhere:
        return output.show(
            certified(receiver_url, timeout=timeout, quiet=output.as_json, **signing, **elsewhere)
        )


@contextmanager
def _emulator(url: str | None, key: str, token: str | None) -> Iterator[dict[str, Any]]:
    """Have the events happen in the App of a key at a running emulator, if there is one."""
    if url is None:
        yield {}
        return
    # Imported here: a run without an emulator needs no client of one.
    from emulator.client.api import PAGE, RACING
    from emulator.resources.app.clients import Key

    with ControlClient(url, key, token=token) as emulator:

        def cause(type: str, overrides: Mapping[str, Any]) -> Sequence[Any]:
            body = {"event": type, "overrides": overrides}
            request = emulator.send("POST", "/trigger", json=body, headers=RACING).headers[
                "request-id"
            ]
            caused = emulator.get(f"/requests/{request}")["event_ids"]
            events = emulator.get("/events", page_size=PAGE)["data"]
            return [event for event in reversed(events) if event["id"] in caused]

        app = emulator.get("/app")
        yield {"elsewhere": cause, "app": Key(app["name"], app["livemode"])}


def certified(
    url: str,
    *,
    secret: str | None,
    webhook: str | None,
    method: str = METHODS[0],
    timeout: float = RECEIVER_SECONDS,
    quiet: bool = False,
    **more: Any,
) -> Report:
    """Return a receiver's results. Raises ``ClickException`` if it gives no response."""
    if not secret or not secret.isprintable():
        raise click.UsageError(
            "give the secret of your receiver with PAYMENTS_EMULATOR_SECRET or --secret; "
            "any printable text will do, as long as both sides have the same"
        )
    if method == "BASIC" and webhook is None:
        raise click.UsageError(
            "with BASIC the user name is the endpoint's id: give the id that your receiver expects"
            " with --webhook"
        )
    import asyncio

    from emulator.checks.receiver import certifier
    from emulator.checks.receiver.checks import checks_of
    from emulator.checks.receiver.service_world import NotPermitted, ServiceWorld

    progress = ProgressLine(quiet=quiet)

    async def run() -> Report:
        results = []
        async for result in certifier.results(service, timeout):
            results.append(result)
            progress.show(len(results), len(checks_of(method)))
        return certifier.report(results, service, timeout)

    try:
        with warnings.catch_warnings():
            # PyJWT recommends longer secrets than people make up for a test.
            warnings.filterwarnings("ignore", message="The HMAC key is")
            service = ServiceWorld(url, secret, method, webhook=webhook, **more)
            return asyncio.run(run())
    except NotPermitted as error:
        raise click.BadParameter(str(error), param_hint="'RECEIVER_URL'") from None
    except certifier.NoReceiver as error:
        address = url.partition("?")[0]  # the query may contain a password
        raise click.ClickException(f"no receiver responds at {address}: {error}") from None
    finally:
        progress.end()
