"""The command line on a running emulator: looks, clock moves, and ways back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from contract_tests.quality.drift.commands import examples
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.cli.conftest import Cli, OnScreen
from emulator.cli.trigger import trigger
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.registry import JOBS, REGISTRY

CHARGE = ["payment_intent.succeeded", "transaction.succeeded", "invoice.paid"]

ENDPOINTS = {
    "health": "/health",
    "clock": "/clock",
    "schedule": "/schedule",
    "schedule --until P3M": "/schedule?until=P3M",
    "emails": "/emails",
    "world list": "/snapshots",
    "ledger": "/ledger?page_size=20",
    "explain {customer}": "/explain/{customer}",
    "logs {request}": "/requests/{request}",
    "emails {email}": "/emails/{email}",
}


def test_a_command_prints_the_response_of_its_endpoint(sandbox: Sandbox, cli: Cli) -> None:
    """For programs, with ``--json``: an object a line."""
    customer = sandbox.subscribe()["customer"]
    sandbox.control.post("/snapshots", {"name": "saved"})
    request = sandbox.control.get("/requests")["data"][-1]["id"]
    ids = {
        "customer": customer,
        "request": request,
        "email": sandbox.control.get("/emails")["data"][0]["id"],
    }
    for line, path in ENDPOINTS.items():
        response = sandbox.control.get(path.format_map(ids))
        rows, printed = (
            response.get("data", [response]),
            cli(*line.format_map(ids).split(), "--json").objects,
        )
        assert [row | {"seconds_ago": 0} for row in printed] == [
            row | {"seconds_ago": 0} for row in rows
        ], line


def test_the_clock_is_shown_by_any_address(sandbox: Sandbox, cli: Cli) -> None:
    """``clock`` alone is ``clock show``; the URL of the API will do, and one without its scheme."""
    assert cli("clock").lines == ["2026-01-01T00:00:00Z  frozen; nothing is planned"]
    sandbox.subscribe()
    planned = ["2026-01-01T00:00:00Z  frozen; 1 job planned, the next at 2026-02-01T00:00:00Z"]
    place = sandbox.url.removeprefix("http://")
    for url in (place, f"{sandbox.url}/", f"{place}/v1/"):
        assert cli("clock", "show", "--url", url).lines == planned
    name = sandbox.key.removeprefix("sk_test_")
    assert cli("clock", "--app", name).lines == planned
    assert cli("clock", "--app", f"other-{name}").lines != planned, (
        "it outdoes the key of the environment"
    )


def test_an_advance_reports_its_jobs(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.subscribe()
    for number, how in enumerate(
        (["31d"], ["P28D"], ["--to", "2026-04-01"], ["--to", "2026-05-01T00:00:00Z"])
    ):
        assert cli("clock", "advance", *how).lines == [
            f"→ 2026-0{number + 2}-01T00:00:00Z · 1 job · 3 events · 0 webhooks delivered",
            *(f"     1  {type}" for type in CHARGE),
        ]


def test_the_clock_moves_to_the_next_job(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.subscribe()
    assert cli("clock", "next").lines[0].startswith("→ 2026-02-01T00:00:00Z")


def test_the_clock_moves_until_an_event(sandbox: Sandbox, cli: Cli) -> None:
    """A duration beside ``--until-event`` is the furthest to go."""
    sandbox.subscribe()
    assert (
        "→ 2026-01-03T00:00:00Z"
        in cli("clock", "advance", "--until-event", "invoice.paid", "2d").lines[0]
    )
    (done,) = cli("clock", "advance", "--until-event", "invoice.paid", "--json").objects
    assert done["events"]["invoice.paid"] == 1


def test_the_clock_runs_at_a_rate(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.subscribe()
    assert (
        "running (60 times as fast); 1 job planned" in cli("clock", "run", "--rate", "60").lines[0]
    )


def test_the_clock_freezes_at_an_instant(sandbox: Sandbox, cli: Cli) -> None:
    assert (
        cli("clock", "freeze", "--at", "2026-07-15")
        .lines[0]
        .startswith("2026-07-15T00:00:00Z  frozen; ")
    )


def test_a_job_that_fails_on_the_way_is_named(
    sandbox: Sandbox, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 1; the clock arrives all the same."""

    def renew(world: World, job: Job) -> None:
        raise ArithmeticError("does not add up")

    monkeypatch.setattr(
        "emulator.server.sandbox.REGISTRY",
        REGISTRY._replace(jobs={**JOBS, "subscription.renew": renew}),
    )
    subscription = sandbox.subscribe()["id"]
    result = cli("clock", "advance", "31d")
    assert result.status == 1
    assert result.output == "→ 2026-02-01T00:00:00Z · 0 jobs · 0 events · 0 webhooks delivered\n"
    assert (
        result.errors
        == f"failed: subscription.renew of {subscription}: ArithmeticError: does not add up\n"
    )


def test_ctrl_c_stops_a_long_advance(sandbox: Sandbox, screen: OnScreen) -> None:
    """It has millions of jobs. The clock stays at the stop, and a message says so; status 130."""
    sandbox.subscribe()
    options = ["--url", sandbox.url, "--key", sandbox.key]
    terminal = screen("clock", "advance", "--to", "9999-12-31", *options)
    terminal.until(" jobs")
    terminal.type("\x03")
    assert terminal.status() == 130
    progress, _, rest = terminal.text.partition("→ stopped at ")
    assert re.fullmatch(
        r"\x1b\[K[0-9]+%  [0-9-]{10}T[0-9:]{8}Z  [0-9]+ jobs?(\^C)?", progress.split("\r")[1]
    )
    assert progress.endswith("\r\x1b[K"), "the line is gone from the terminal"
    assert "%" not in rest
    stopped = re.search(r"→ stopped at (\S+)", terminal.text)
    assert stopped, terminal.text
    assert stopped[1] == f"{sandbox.now[:19]}Z"
    assert "2026-01-01T00:00:00Z" < stopped[1] < "9999-12-31T00:00:00Z"
    assert len(sandbox.control.get("/schedule")["data"]) == 1


def test_an_event_is_triggered(sandbox: Sandbox, cli: Cli) -> None:
    """A value is JSON where it can be, else a text; dots lead into an object."""
    _, line = cli("trigger", "invoice.paid").lines
    invoice = sandbox.events()[-1]["data"]["object"]["id"]
    assert (line.split()[:2], line.split()[-1]) == (["00:00", "invoice.paid"], invoice)
    overrides = [
        "-o",
        "amount=7500",
        "--override",
        "customer.name=Ada Ndong",
        "-o",
        "customer.metadata.vip=yes",
    ]
    (event,) = cli("trigger", "payment_intent.succeeded", *overrides, "--json").objects
    assert event["data"]["object"]["amount"] == 7500
    customer = sandbox.api.get(f"/customers/{event['data']['object']['customer']}/")
    assert (customer["firstname"], customer["lastname"], customer["metadata"]) == (
        "Ada",
        "Ndong",
        {"vip": "yes"},
    )
    (again,) = cli(
        "trigger", "customer.deleted", "-o", f"customer={customer['id']}", "--json"
    ).objects
    assert again["data"]["object"]["id"] == customer["id"]


def test_the_help_of_trigger_shows_overrides_that_are_taken(sandbox: Sandbox, cli: Cli) -> None:
    subscription = sandbox.subscribe()["id"]
    lines = examples(trigger.help or "")
    assert len(lines) > 2
    for line in lines:
        words = re.sub("=sub_[A-Za-z0-9]+", f"={subscription}", line).split()
        assert cli(*words[1:]).status == 0, line


def test_an_object_to_trigger_with_may_have_a_short_id(sandbox: Sandbox, cli: Cli) -> None:
    customer = sandbox.customer()["id"]
    for short in (customer[:-12], f"{customer[:-12]}…"):
        override = ["-o", f"customer={short}"]
        (event,) = cli("trigger", "payment_intent.succeeded", *override, "--json").objects
        assert event["data"]["object"]["customer"] == customer


@pytest.mark.parametrize(
    "command",
    ["explain cust_", "logs req_", "emails mail_", "world rewind req_", "pay sess_"],
)
def test_a_short_id_of_several_objects_is_asked_about(
    sandbox: Sandbox, cli: Cli, command: str
) -> None:
    for _ in range(3):
        sandbox.buy(sandbox.session(customer=sandbox.customer()["id"]))
    start = command.rsplit(maxsplit=1)[-1]
    assert re.match(
        rf"payments-emulator: [0-9]+ ids begin with {start}: {start}\w+, {start}\w+, …; ",
        cli(*command.split()).usage_error,
    )


def test_a_payment_that_fails_is_an_exit_status(sandbox: Sandbox, cli: Cli) -> None:
    session = sandbox.session()
    ended = cli("pay", session["id"], "--phone", "+24177000001")
    assert ended.status == 1
    assert ended.output.split()[2:] == ["30,000", "XAF", "canceled", "INSUFFICIENT_FUNDS"]


def test_a_session_that_charges_nothing_is_paid_in_one_line(sandbox: Sandbox, cli: Cli) -> None:
    """The line is the session's: in ``setup`` mode, and where a trial begins."""
    trial = sandbox.plan(trial_period_days=14)["id"]
    for fields in ({"mode": "setup"}, {"mode": "subscription", "line_items": [{"plan": trial}]}):
        session = sandbox.session(**fields)["id"]
        (line,) = cli("pay", session).lines
        assert line.split()[1:] == [session, "complete"]
        (paid,) = cli("pay", sandbox.session(**fields)["id"], "--json").objects
        assert (paid["object"], paid["status"]) == ("checkout_session", "complete")


def test_one_of_a_links_products_is_paid(sandbox: Sandbox, cli: Cli) -> None:
    products = [sandbox.product(unit_amount=amount)["id"] for amount in (500, 700)]
    link = sandbox.link(payment_link_type="product", amount=..., products=products)["id"]
    assert "the link sells several" in cli("pay", link).errors
    (paid,) = cli("pay", link, "--product", products[1][:20], "--json").objects
    assert (paid["status"], paid["amount"]) == ("succeeded", 700)


def test_the_url_of_a_page_is_paid(sandbox: Sandbox, cli: Cli) -> None:
    for url in (
        sandbox.session()["url"],
        sandbox.link(collect_customer_info=False)["url"],
        f"{sandbox.invoice()['payment_url']}?lang=fr",
    ):
        (paid,) = cli("pay", url, "--json").objects
        assert paid["status"] == "succeeded", url


def test_a_method_that_is_not_saved_is_an_exit_status(sandbox: Sandbox, cli: Cli) -> None:
    session = sandbox.session(mode="setup")["id"]
    ended = cli("pay", session, "--phone", FAILING_PHONE)
    assert (ended.status, ended.errors) == (1, "")
    assert ended.output.split()[1:] == [session, "payment_failed"]


@pytest.mark.parametrize(
    ("amount", "paid"),
    [("15.50 EUR", 1550), ("15,50eur", 1550), ("1,550.00 EUR", 155_000), ("1550", 1550)],
)
def test_an_amount_is_paid_as_people_write_it_or_in_minor_units(
    sandbox: Sandbox, cli: Cli, amount: str, paid: int
) -> None:
    link = sandbox.link(payment_link_type="donation", amount=..., currency="EUR")
    (intent,) = cli("pay", link["id"], "--amount", amount, "--json").objects
    assert (intent["amount"], intent["currency"]) == (paid, "EUR")


@pytest.mark.parametrize(
    ("amount", "error"),
    [
        ("15.50", "write it with its currency, such as '15.50 EUR', or in minor units"),
        ("15.505 EUR", "'15.505' is not an amount in EUR"),
        ("15 XAF", "--amount is in XAF, but this is paid in EUR"),
    ],
)
def test_an_amount_that_can_mean_two_things_is_asked_about(
    sandbox: Sandbox, cli: Cli, amount: str, error: str
) -> None:
    link = sandbox.link(payment_link_type="donation", amount=..., currency="EUR")
    ended = cli("pay", link["id"], "--amount", amount)
    assert ended.status == 2
    assert error in " ".join(ended.errors.split())


def test_a_payment_waits_for_its_webhooks(sandbox: Sandbox, cli: Cli, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    session = sandbox.session()
    (paid,) = cli("pay", session["id"], "--json").objects
    assert paid["status"] == "succeeded"
    assert {
        delivery["status"]
        for delivery in sandbox.api.pages(f"/webhooks/{endpoint['id']}/deliveries/")
    } == {"succeeded"}
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/")["status"] == "complete"


def test_no_command_waits_for_webhooks_with_no_wait(
    sandbox: Sandbox, cli: Cli, receiver: Receiver
) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    cli("pay", sandbox.session()["id"], "--no-wait")
    cli("trigger", "invoice.paid", "--no-wait")
    delivered = sandbox.api.pages(f"/webhooks/{endpoint['id']}/deliveries/")
    assert "pending" in {delivery["status"] for delivery in delivered}
    receiver.release()


def test_events_are_printed_by_day(sandbox: Sandbox, cli: Cli) -> None:
    """The latest event at the end."""
    subscription = sandbox.subscribe()["id"]
    name = "Awa Diop · Basic · 5,000 XAF / month"
    day, *lines = [line.split() for line in cli("events").lines]
    assert day == ["2026-01-01"]
    assert [type for _, type, *_ in lines] == ["customer.created", "subscription.created", *CHARGE]
    assert " ".join(lines[1]) == f"00:00 subscription.created {name} {subscription}"
    assert cli("events", "--json").objects == sandbox.events()
    assert [event["type"] for event in cli("events", "--limit", "2", "--json").objects] == CHARGE[
        1:
    ]
    assert [line.split()[1] for line in cli("events", "--type", "invoice.paid").lines[1:]] == [
        "invoice.paid"
    ]
    assert [line.split()[1] for line in cli("events", "--object", subscription).lines[1:]] == [
        "subscription.created"
    ]


def test_the_schedule_is_printed_by_day(sandbox: Sandbox, cli: Cli) -> None:
    subscription = sandbox.subscribe()["id"]
    name = "Awa Diop · Basic · 5,000 XAF / month"
    row = f"00:00  Subscription renews           {name}  {subscription}"
    assert cli("schedule").lines == ["2026-02-01", row]
    coming = cli("schedule", "--until", "P3M").lines
    assert coming[::2] == [f"2026-0{month}-01" for month in (2, 3, 4)]
    assert set(coming[1::2]) == {row.replace(name, f"{', '.join(CHARGE)}  {name}")}
    assert cli("schedule", "--until", "P3M", "--limit", "2").output.count("\n") == 4


def test_jobs_of_one_kind_and_instant_share_a_line_of_the_schedule(
    sandbox: Sandbox, cli: Cli
) -> None:
    """As in the console; programs get each job."""
    subscriptions = [sandbox.subscribe()["id"] for _ in range(3)]
    name = "Awa Diop · Basic · 5,000 XAF / month and 2 more"
    assert cli("schedule").lines == ["2026-02-01", f"00:00  Subscription renews × 3       {name}"]
    jobs = cli("schedule", "--json").objects
    assert {job["object"] for job in jobs} == {*subscriptions}


def test_a_list_that_is_cut_says_how_to_see_all(sandbox: Sandbox, cli: Cli) -> None:
    for _ in range(3):
        sandbox.control.post("/trigger", {"event": "customer.created"})
        sandbox.subscribe()
    for command in ("events", "logs", "schedule --until P3M"):
        cut = cli(*command.split(), "--limit", "2")
        total = re.fullmatch(r"2 of (\d+); --limit \1 shows all\n", cut.errors)
        assert total
        assert cli(*command.split(), "--limit", total[1]).errors == ""


def test_as_many_events_are_printed_as_asked_for(sandbox: Sandbox, cli: Cli) -> None:
    for _ in range(105):
        sandbox.control.post("/trigger", {"event": "customer.created"})
    assert [len(cli("events", "-n", count, "--json").objects) for count in ("1000", "101")] == [
        105,
        101,
    ]


def test_requests_are_listed_in_short(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.customer()
    sandbox.api.request("POST", "/customers/", json={"name": "Awa"})
    made, rejected = [
        request["id"] for request in cli("logs", "--method", "post", "--json").objects
    ]
    first = f"00:00  201  POST /v1/customers/  Awa Diop  {made}"
    second = f"00:00  422  POST /v1/customers/  {rejected}"
    assert cli("logs", "--method", "post").lines == ["2026-01-01", first, second]
    for status in ("422", "4xx"):
        assert cli("logs", "--status", status).lines == ["2026-01-01", second]
    assert [
        request["status"]
        for request in cli("logs", "--operation", "createCustomer", "--json").objects
    ] == [201, 422]


def test_a_request_is_shown_with_its_effects(sandbox: Sandbox, cli: Cli) -> None:
    customer = sandbox.customer()["id"]
    (made,) = [request["id"] for request in cli("logs", "--method", "post", "--json").objects]
    lines = cli("logs", made).lines
    assert "> authorization: ****" in lines
    assert f'<   "id": "{customer}",' in lines
    assert f"created customer {customer}" in lines
    (event,) = sandbox.events()
    assert lines[-1] == f"event {event['id']}"


def test_emails_are_listed_in_short(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.subscribe(collection_method="send_invoice")
    (email,) = sandbox.control.get("/emails")["data"]
    assert cli("emails").lines == [
        "2026-01-01",
        "  ".join(["00:00", email["subject"], "5,000 XAF", email["to"], "Awa Diop", email["id"]]),
    ]
    assert cli("emails", "--kind", "receipt", "--json").objects == []
    assert cli("emails", "--kind", "invoice", "--to", email["to"], "--json").objects == [email]


def test_an_email_is_shown_in_each_form(sandbox: Sandbox, cli: Cli) -> None:
    subscription = sandbox.subscribe(collection_method="send_invoice")
    (email,) = sandbox.control.get("/emails")["data"]
    lines = cli("emails", email["id"]).lines
    for line in (f"To: {email['to']}", f"Subject: {email['subject']}", "Hello Awa Diop,"):
        assert line in lines
    assert f"Attached: {email['attachments'][0]['filename']}" in lines
    assert any("5,000" in line for line in lines)
    assert email["customer"] == subscription["customer"]
    assert cli("emails", email["id"], "--html").output.startswith("<!doctype html>")
    assert "MIME-Version: 1.0" in cli("emails", email["id"], "--raw").output


@pytest.fixture
def saved(sandbox: Sandbox, cli: Cli) -> list[str]:
    """The lines of a snapshot's save, a month ago."""
    sandbox.customer()
    lines = cli("world", "save", "before-renewal").lines
    sandbox.advance("31d")
    return lines


def test_a_snapshot_is_saved(saved: list[str]) -> None:
    assert saved == ["before-renewal        2026-01-01T00:00:00Z  1 object"]


@pytest.mark.usefixtures("saved")
def test_a_snapshot_is_exported(sandbox: Sandbox, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    assert cli("world", "export", "before-renewal", "-o", str(file)).lines == []
    exported = sandbox.control.get("/snapshots/before-renewal")
    assert json.loads(file.read_text()) == exported
    assert cli("world", "export", "before-renewal").objects == [exported]


@pytest.mark.usefixtures("saved")
def test_a_snapshot_is_exported_to_be_shared(sandbox: Sandbox, cli: Cli) -> None:
    shared = sandbox.control.get("/snapshots/before-renewal", share="true")
    assert cli("world", "export", "before-renewal", "--share").objects == [shared]
    assert shared != sandbox.control.get("/snapshots/before-renewal")


@pytest.mark.usefixtures("saved")
def test_a_snapshot_is_imported_by_the_name_of_its_file(
    sandbox: Sandbox, cli: Cli, tmp_path: Path
) -> None:
    """Or by another name. To import one changes nothing of the world."""
    file = tmp_path / "shop.json"
    cli("world", "export", "before-renewal", "-o", str(file))
    assert cli("world", "import", str(file), "--json").objects[0]["name"] == "shop"
    assert [line.split()[0] for line in cli("world", "list").lines] == ["shop", "before-renewal"]
    assert cli("world", "import", "--name", "copy", str(file)).lines[0].startswith("copy ")
    assert sandbox.now == "2026-02-01T00:00:00.000Z"


@pytest.mark.usefixtures("saved")
def test_a_snapshot_is_restored(sandbox: Sandbox, cli: Cli) -> None:
    assert cli("world", "load", "before-renewal").lines[0].startswith("before-renewal ")
    assert sandbox.now == "2026-01-01T00:00:00.000Z"


@pytest.mark.usefixtures("saved")
def test_a_snapshot_is_deleted(cli: Cli) -> None:
    cli("world", "save", "copy")
    assert cli("world", "delete", "copy").lines == []
    names = [snapshot["name"] for snapshot in cli("world", "list", "--json").objects]
    assert names == ["before-renewal"]


def test_a_world_is_rewound_to_before_a_request(sandbox: Sandbox, cli: Cli) -> None:
    made = [sandbox.customer()["id"] for _ in range(3)]
    requests = [
        request["id"] for request in cli("logs", "--operation", "createCustomer", "--json").objects
    ]
    undone = f"Before {requests[2]}: 2026-01-01T00:00:00Z, 1 unit of work undone"
    assert cli("world", "rewind", requests[2]).lines == [undone]
    assert [
        customer["id"] for customer in sandbox.api.get("/customers/", ordering="created_at")["data"]
    ] == made[:2]


def test_a_world_is_rewound_by_steps(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.advance("1d")
    assert (
        cli("world", "rewind", "--steps", "1", "--json").objects[0]["now"]
        == "2026-01-01T00:00:00.000Z"
    )


def test_a_fresh_world_is_that_of_the_server(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.customer()
    assert cli("world", "reset").lines == ["New world: 2026-01-01T00:00:00Z, frozen"]
    assert sandbox.events() == []


def test_a_fresh_world_starts_as_its_options_say(
    sandbox: Sandbox, cli: Cli, tmp_path: Path
) -> None:
    """Its settings are a file's; seed and clock are the options'."""
    file = tmp_path / "shop.yaml"
    file.write_text("settings: {tax_rate: 18}")
    start = ["--clock", "frozen@2027-01-01T00:00:00Z", "--seed", "8", "--fixtures", str(file)]
    (world,) = cli("world", "reset", *start, "--json").objects
    assert (world["now"], world["settings"]["tax_rate"]) == ("2027-01-01T00:00:00.000Z", 18)
    first = sandbox.customer()["id"]
    cli("world", "reset", *start)
    assert sandbox.customer()["id"] == first


@pytest.mark.parametrize("seed", [0, 8])
def test_the_seed_of_a_fresh_world_decides_its_ids(sandbox: Sandbox, cli: Cli, seed: int) -> None:
    """B-93; the server's own is another one."""
    clock = "frozen@2026-01-01T00:00:00Z"
    sandbox.control.post("/reset", {"seed": seed, "clock": clock})
    expected = sandbox.customer()["id"]
    cli("world", "reset", "--seed", str(seed), "--clock", clock)
    assert sandbox.customer()["id"] == expected
