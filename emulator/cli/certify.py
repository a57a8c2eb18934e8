"""``certify``: the service towards somebody's webhook receiver, with good deliveries and bad ones, and a report."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.listen import PATIENCE, destination
from emulator.cli.options import ID, as_json, option
from emulator.cli.output import counted, print_line

if TYPE_CHECKING:
    from emulator.certifier.service_world import ServiceWorld

METHODS = ("HMAC_SHA256", "JWT", "BASIC")


@click.command()
@click.argument("receiver_url")
@option("--secret", metavar="SECRET", help="What deliveries are signed with; any text that your receiver has too.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default=METHODS[0],
    show_default=True,
    help="How the endpoint has its deliveries signed.",
)
@click.option("--webhook", type=ID, help="Id of the endpoint: with BASIC it is the user.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 60, min_open=True),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="How long the receiver may take for an answer.",
)
@click.option(
    "--ssl-verification/--no-ssl-verification", default=True, help="Whether the certificate must be in order."
)
@as_json
def certify(receiver_url: str, *, timeout: float, as_json: bool, **signing: Any) -> int:
    """Try a webhook receiver with good and bad deliveries; exit status 1 if it fails a check.

    \b
    export PAYMENTS_EMULATOR_SECRET=whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c
    payments-emulator certify http://localhost:3000/webhooks
    payments-emulator certify https://staging.example.com/webhooks --method JWT --timeout 5
    payments-emulator certify localhost:3000/hooks --method BASIC --webhook wh_5Tn8cV2bX6mK1jH4gF7dS9aP

    Events of every type happen in a world of their own, so no emulator needs to run, and are sent as the service sends
    them: genuine, forged, stale, repeated, out of order, slowly, large. Let the receiver have any secret you like, and
    give the same here. What it does with events it does with these, of customers and payments that never were.
    """
    # Imported here: the help of a command line needs no event loop.
    import asyncio

    service = _service(destination(receiver_url, "'RECEIVER_URL'"), **signing)
    with warnings.catch_warnings():
        # A secret made up for a test may be shorter than a library of tokens thinks good.
        warnings.filterwarnings("ignore", message="The HMAC key is")
        shown = asyncio.run(_shown(service, timeout, as_json))
    if not as_json:
        click.echo("\n" + "\n".join(map(_wrapped, _summary(shown, service, timeout))))
    return 0 if all(item["passed"] for item in shown) else 1


def _service(url: str, *, secret: str | None, method: str, webhook: str | None, ssl_verification: bool) -> ServiceWorld:
    if not secret or not secret.isprintable():
        raise click.UsageError(
            "say with --secret, or better PAYMENTS_EMULATOR_SECRET, what your receiver checks signatures with; "
            "any printable text will do, if both have the same"
        )
    if method == "BASIC" and webhook is None:
        raise click.UsageError(
            "with BASIC the user is the endpoint's id: give with --webhook the one your receiver knows"
        )
    # Imported here, as below: the help and the mistakes of a command line need no world and no HTTP client.
    from emulator.certifier.service_world import NotPermitted, ServiceWorld

    try:
        return ServiceWorld(url, secret, method, webhook=webhook, ssl_verification=ssl_verification)
    except NotPermitted as fault:
        raise click.BadParameter(str(fault), param_hint="'RECEIVER_URL'") from None


async def _shown(service: ServiceWorld, timeout: float, as_json: bool) -> list[dict[str, Any]]:
    """Every finding as plain values, told as soon as it was made."""
    from emulator.certifier import certifier

    shown = []
    try:
        async for finding in certifier.results(service, timeout):
            shown.append(certifier.as_json(finding))
            print_line(shown[-1], _told, as_json)
    except certifier.Unreachable as fault:
        raise click.ClickException(f"no receiver answers at {_where(service)}: {fault}") from None
    return shown


def _where(service: ServiceWorld) -> str:
    """The receiver's URL without its query, in which there may be a password."""
    return service.endpoint.url.partition("?")[0]


def _told(item: dict[str, Any]) -> str:
    """One finding: a line, and below it what there is to say of a failure."""
    result = click.style("pass", fg="green") if item["passed"] else click.style("FAIL", fg="red", bold=True)
    took = max(answer["duration_ms"] for answer in item["answers"])
    status = (_failed(item) or item["answers"])[0]["status"] or "none"
    line = f"{result}  {item['check']:16}  {item['sent']:40}  {status!s:4}{took:>6} ms"
    return line if item["passed"] else "\n".join([line, *map(_indented, _explained(item))])


def _failed(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [answer for answer in item["answers"] if not answer["passed"]]


def _explained(item: dict[str, Any]) -> list[str]:
    return [
        f"expected: {item['expected']}, by a {'2xx' if item['expected'] == 'accepted' else '4xx'} ({item['rule']})",
        f"got: {'; '.join(_got(_failed(item)))}",
        f"do: {item['advice']}",
    ]


def _got(failed: list[dict[str, Any]]) -> Iterator[str]:
    """Each wrong answer once, with what it said and the types of event that it was given to."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for answer in failed:
        alike.setdefault(answer["error"] or str(answer["status"]), []).append(answer)
    for wrong, answers in alike.items():
        said = f", saying {answers[0]['body']!r}" if answers[0]["body"] else ""
        yield f"{wrong} to {', '.join(dict.fromkeys(answer['event'] for answer in answers))}{said}"


def _indented(text: str) -> str:
    return _wrapped(text, "      ", "        ")


def _wrapped(text: str, first: str = "", others: str = "") -> str:
    return click.wrap_text(text, min(100, shutil.get_terminal_size().columns), first, others)


def _summary(shown: list[dict[str, Any]], service: ServiceWorld, timeout: float) -> Iterator[str]:
    """What the report comes to, and what is to be said of it."""
    from emulator.certifier.checks import checks_of

    method = service.endpoint.security_profile
    failed, made = sum(not item["passed"] for item in shown), counted(len(shown), "check")
    told = f"{failed} of {made} failed" if failed else f"All {made} passed"
    yield f"{told} ({method}, {timeout:g} s for an answer)."
    if left := len(checks_of(method)) - len(shown):
        yield f"{counted(left, 'check')} not made: what refuses a good event refuses the others as well."
    if others := sorted({status for item in shown for status in _taken(item) if status != 200}):
        yield f"The specification asks for a 200 (Delivery rule 2); that {others[0]} will do is an assumption (B-84)."


def _taken(item: dict[str, Any]) -> list[int]:
    """The statuses by which deliveries of a check were accepted, and rightly so."""
    return [each["status"] for each in item["answers"] if each["passed"] and item["expected"] == "accepted"]
