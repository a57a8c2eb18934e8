"""``test receiver``: send valid and invalid deliveries to a webhook receiver, and report how it answers."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.listen import PATIENCE, destination
from emulator.cli.options import DEFAULT_KEY, ID, Number, as_json, option, racing, writing
from emulator.cli.output import counted, print_line

if TYPE_CHECKING:
    from emulator.checks.receiver.service_world import ServiceWorld


METHODS = ("HMAC_SHA256", "JWT", "BASIC")

ANYWHERE = "https://receiver.example.com/webhooks"
"""The URL of the endpoint whose deliveries are written to files."""

UNREADABLE = (
    "If the receiver reads the objects of events: they exist only with --url (PAYMENTS_EMULATOR_URL), which names the "
    "emulator that it reads from."
)


@click.command()
@click.argument("receiver_url", required=False)
@option("--secret", metavar="SECRET", help="Secret that signs the deliveries; configure the same one in your receiver.")
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
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="Time the receiver has for each answer.",
)
@click.option("--ssl-verification/--no-ssl-verification", default=True, help="Whether the certificate must be valid.")
@click.option(
    "--export",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the deliveries to files of this folder instead of sending them.",
)
@option("--url", metavar="URL", help="URL of the emulator from which the receiver reads objects, if it does.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App there.")
@option("--control-token", metavar="TOKEN", help="Control token that it was started with, if any.")
@as_json
def receiver(
    receiver_url: str | None,
    *,
    timeout: float,
    export: Path | None,
    url: str | None,
    key: str,
    control_token: str | None,
    as_json: bool,
    **signing: Any,
) -> int:
    """Test a webhook receiver with valid and invalid deliveries.

    \b
    export PAYMENTS_EMULATOR_SECRET=whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c
    payments-emulator test receiver http://localhost:3000/webhooks
    payments-emulator test receiver https://staging.example.com/webhooks --method JWT --timeout 5
    payments-emulator test receiver localhost:3000/hooks --method BASIC --webhook wh_5Tn8cV2bX6mK1jH4gF7dS9aP
    payments-emulator test receiver --export deliveries

    Events of every type are sent as the service sends them: valid, forged, expired, repeated, out of order, slowly,
    large. Configure any shared secret on both sides. Without --url no emulator needs to run, and the
    customers and payments of the events cannot be read; with it they are created there. Use a test
    instance. Exit status 1 if a check fails.
    """
    if receiver_url is None and export is None:
        raise click.UsageError("give the URL of a receiver, or --export FOLDER")
    receiver_url = destination(receiver_url or ANYWHERE, "'RECEIVER_URL'")
    with ExitStack() as stack:
        # PyJWT warns of a secret shorter than it recommends; one made up for a test may be.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="The HMAC key is")
        if export is not None:
            return _exported(_service(receiver_url, **signing), export, as_json)
        there = stack.enter_context(_emulator(url, key, control_token)) if url else {}
        return _certified(_service(receiver_url, **signing, **there), timeout, as_json)


@contextmanager
def _emulator(url: str, key: str, token: str | None) -> Iterator[dict[str, Any]]:
    """Have the events happen in the App of a key at a running emulator."""
    # Imported here: a run without an emulator needs no client of one.
    from emulator.cli.client import ControlClient
    from emulator.client.api import PAGE
    from emulator.resources.app.clients import Key

    with ControlClient(url, key, token=token) as emulator:

        def cause(type: str, overrides: Mapping[str, Any]) -> Sequence[Any]:
            body = {"event": type, "overrides": overrides}
            request = emulator.send("POST", "/trigger", json=body, headers=racing(no_wait=True)).headers["request-id"]
            caused = emulator.get(f"/requests/{request}")["event_ids"]
            events = emulator.get("/events", page_size=PAGE)["data"]
            return [event for event in reversed(events) if event["id"] in caused]

        app = emulator.get("/app")
        yield {"elsewhere": cause, "app": Key(app["name"], app["livemode"])}


def _certified(service: ServiceWorld, timeout: float, as_json: bool) -> int:
    """Run the checks and show them; the exit status."""
    import asyncio

    shown = asyncio.run(_run(service, timeout, as_json))
    if not as_json:
        click.echo("\n" + "\n".join(map(_wrapped, _summary(shown, service, timeout))))
    return 0 if all(item["passed"] for item in shown) else 1


def _exported(service: ServiceWorld, folder: Path, as_json: bool) -> int:
    """Write each delivery to a file, and say how many there are of each kind; the exit status."""
    from emulator.checks.receiver.certifier import exported

    expected = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, delivery in exported(service):
            (folder / f"{name}.json").write_text(json.dumps(delivery, indent=2, ensure_ascii=False) + "\n", "utf-8")
            expected.append(delivery["expected"])
    counts = {"accepted": expected.count("accepted"), "refused": expected.count("refused")}
    print_line(counts | {"folder": str(folder)}, _exported_line, as_json)
    return 0


def _exported_line(item: dict[str, Any]) -> str:
    files = counted(item["accepted"] + item["refused"], "file")
    return f"{files} in {item['folder']}: {item['accepted']} to be accepted and {item['refused']} to be rejected."


def _service(url: str, *, secret: str | None, method: str, webhook: str | None, **more: Any) -> ServiceWorld:
    if not secret or not secret.isprintable():
        raise click.UsageError(
            "give the secret of your receiver with PAYMENTS_EMULATOR_SECRET or --secret; "
            "any printable text will do, as long as both sides have the same"
        )
    if method == "BASIC" and webhook is None:
        raise click.UsageError(
            "with BASIC the user name is the endpoint's id: give the id that your receiver expects with --webhook"
        )
    from emulator.checks.receiver.service_world import NotPermitted, ServiceWorld

    try:
        return ServiceWorld(url, secret, method, webhook=webhook, **more)
    except NotPermitted as error:
        raise click.BadParameter(str(error), param_hint="'RECEIVER_URL'") from None


async def _run(service: ServiceWorld, timeout: float, as_json: bool) -> list[dict[str, Any]]:
    """Return the result of every check as plain values, each printed as soon as it is known."""
    from emulator.checks.receiver import certifier

    shown = []
    try:
        async for result in certifier.results(service, timeout):
            shown.append(certifier.as_json(result))
            print_line(shown[-1], _line, as_json)
    except certifier.NoReceiver as error:
        url = service.endpoint.url.partition("?")[0]  # the query may contain a password
        raise click.ClickException(f"no receiver answers at {url}: {error}") from None
    return shown


def _line(item: dict[str, Any]) -> str:
    """Return one result on a line, with details of a failure below it."""
    verdict = click.style("pass", fg="green") if item["passed"] else click.style("FAIL", fg="red", bold=True)
    took = max(answer["duration_ms"] for answer in item["answers"])
    status = (_failed(item) or item["answers"])[0]["status"] or "none"
    line = f"{verdict}  {item['check']:16}  {item['sent']:40}  {status!s:4}{took:>6} ms"
    if item["passed"]:
        return line
    details = (
        f"expected: a {'2xx' if item['expected'] == 'accepted' else '4xx'} ({item['rule']})",
        f"got: {'; '.join(_got(_failed(item)))}",
        f"do: {item['advice']}",
    )
    return "\n".join([line, *(_wrapped(each, "      ", "        ") for each in details)])


def _failed(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [answer for answer in item["answers"] if not answer["passed"]]


def _got(failed: list[dict[str, Any]]) -> Iterator[str]:
    """Yield each wrong answer once, with its body and the types of event it was given to."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for answer in failed:
        groups.setdefault(answer["error"] or str(answer["status"]), []).append(answer)
    for wrong, answers in groups.items():
        body = f", saying {answers[0]['body']!r}" if answers[0]["body"] else ""
        yield f"{wrong} to {', '.join(dict.fromkeys(answer['event'] for answer in answers))}{body}"


def _wrapped(text: str, first: str = "", others: str = "") -> str:
    return click.wrap_text(text, min(100, shutil.get_terminal_size().columns), first, others)


def _summary(shown: list[dict[str, Any]], service: ServiceWorld, timeout: float) -> Iterator[str]:
    """Yield the counts, and notes on them."""
    from emulator.checks.receiver.checks import checks_of

    method = service.endpoint.security_profile
    failed, total = sum(not item["passed"] for item in shown), counted(len(shown), "check")
    verdict = f"{failed} of {total} failed" if failed else f"All {total} passed"
    yield f"{verdict} ({method}, {timeout:g} s for an answer)."
    if left := len(checks_of(method)) - len(shown):
        yield f"{counted(left, 'check')} not run: a receiver that rejects the valid event rejects the others as well."
    if not service.is_readable and any(not item["passed"] and item["expected"] == "accepted" for item in shown):
        yield UNREADABLE
    valid = [each for item in shown if item["expected"] == "accepted" for each in item["answers"]]
    if others := sorted({each["status"] for each in valid if each["passed"] and each["status"] != 200}):
        yield f"The specification requires a 200 (Delivery rule 2); accepting {others[0]} is an assumption (B-84)."
