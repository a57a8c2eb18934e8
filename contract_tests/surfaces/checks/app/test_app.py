"""``test app``: its words on clients that differ in one header, on wrong commands and stories."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import httpx
import pytest

from contract_tests import ROOT
from contract_tests.surfaces.cli.terminal import COMMAND, Ended, clean, run
from emulator.checks.app.cases import ADVICE, DELIVERY, FAULT_KINDS, REQUEST, Place, cases, chosen
from emulator.checks.app.tables import read
from emulator.cli import app
from emulator.testing import Emulator

CLIENT = (sys.executable, str(Path(__file__).with_name("client.py")))
CARELESS = ("--", *CLIENT, "careless")

UNSEEN = (
    "Only the state of the service was compared, not your own: add --check or --check-sqlite, or"
    " return a function."
)


def sweep(*arguments: str | Path) -> Ended:
    return run("test", "app", *map(str, arguments))


@pytest.mark.long
def test_a_client_that_repeats_with_its_idempotency_key_ends_the_same_after_every_fault() -> None:
    ended = sweep("--", *CLIENT)
    assert ended.status == 0, ended
    report = (
        rf"No problem in (\d+) cases\.\n{re.escape(UNSEEN)}\n5 requests, 0 deliveries, (\d+)"
        r" runs\.\nNothing was shown, .* wants the refund: 1:refund-refused\.\n"
    )
    counted = re.fullmatch(report, ended.output)
    assert counted, ended
    cases, runs = map(int, counted.groups())
    assert runs == cases + 4, "one for each case, the baseline, and another day and refund"


def test_one_cause_is_one_paragraph_with_its_places_the_worst_first(tmp_path: Path) -> None:
    """And with how to run it again, and how to repair it."""
    report = tmp_path / "report.xml"
    tried = [
        f"--only={case}" for case in ("3:drop-after", "5:drop-before", "5:drop-after", "5:garbled")
    ]
    ended = sweep(*tried, "--then=3d", "--junit", report, *CARELESS)
    assert ended.status == 1
    lines = ended.output.splitlines()
    assert lines[:3] == [
        "A request is sent again without an Idempotency-Key (1 problem in 4 cases)",
        UNSEEN,
        "1. A request is sent again without an Idempotency-Key: a double payment",
    ]
    assert [line.strip() for line in lines if line.startswith("    request ")] == [
        "request 3, POST /v1/subscriptions/: executed, but its response was lost",
        "request 5, POST /v1/refunds/: executed, but its response was lost",
        "request 5, POST /v1/refunds/: executed, but its response was unreadable",
    ]
    assert "        2 refunds succeeded (2,000 XAF) instead of 1 (1,000 XAF)" in lines
    command = shlex.join([*CLIENT, "careless"])
    assert (
        f"    again: payments-emulator test app --only 3:drop-after --then=3d -- {command}" in lines
    )
    [link] = [line.removeprefix("    fix: ") for line in lines if line.startswith("    fix: ")]
    assert link.endswith("#send-a-request-again")
    assert Path(urlsplit(link).path).is_file()
    assert "5 requests, 0 deliveries, 6 runs.\n" in ended.output
    assert "Without any fault, warning of the audit: A refund was sent without" in ended.output
    suite = ElementTree.parse(report).getroot()
    assert [failure.get("message") for failure in suite.iter("failure")] == [
        lines[2].removeprefix("1. ")
    ]


def test_what_a_rule_finds_can_be_ignored() -> None:
    """The baseline shows the careless refund's ``refund-without-key``; here only the fault does."""
    chosen = (
        "--only",
        "3:error-after",
        "--only",
        "5:error-after",
        "--json",
        "--ignore",
        "unsafe-retry",
    )
    cases = json.loads(sweep(*chosen, *CARELESS).output)["cases"]
    assert [case["case"] for case in cases] == ["3:error-after", "5:error-after"]
    assert "2 subscriptions active instead of 1" in cases[0]["differences"]
    assert [case["rules"] for case in cases if "unsafe-retry" in case["rules"]] == []


POSTS = """
import json, os, time
from pathlib import Path
from urllib.request import Request, urlopen

def post(path, body, key=os.environ["PAYMENTS_EMULATOR_KEY"]):
    headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    url = os.environ["PAYMENTS_EMULATOR_URL"] + path
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as response:
        return json.load(response)

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
made = Path(os.environ["PAYMENTS_EMULATOR_FOLDER"], "made")
def make():
    if not made.exists():
        post("/v1/customers/", AWA)
        made.touch()
"""
"""How a scenario makes one customer, once in its folder."""


def scenario(code: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", POSTS + code)


@pytest.mark.parametrize(
    ("option", "case", "message"),
    [
        ("--ignore", "unsafe-retri", "did you mean `unsafe-retry`"),
        ("--only", "*:thrice", "*:thrice is no case; kinds of fault are killed, "),
        pytest.param(
            "--only", "twice", "the scenario has no case of twice", marks=pytest.mark.long
        ),
        pytest.param("--only", "99:lost", "its places are 1 to 1", marks=pytest.mark.long),
        ("--only", "1:lost", "at 1 it has 1:"),
    ],
)
def test_a_case_that_there_is_not_is_a_usage_error(option: str, case: str, message: str) -> None:
    """Nothing was tried, so nothing passed."""
    ended = sweep(option, case, *scenario("make()"))
    assert (ended.status, message in ended.errors) == (2, True), ended


@pytest.mark.long
def test_a_run_without_end_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "APP_RUN_SECONDS", 5.0)
    ended = sweep(
        "--only",
        "1:drop-after",
        *scenario("try:\n    make()\nexcept OSError:\n    time.sleep(3600)"),
    )
    assert "the scenario fails: it does not end: after " in ended.output, ended


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("no shop here", "no shop here\n"),
        (
            "TypeError [CODE]: no shop here\n\nNode.js v20",
            "TypeError [CODE]: no shop here\n",
        ),  # Node's last line
        (
            "FAILED test_shop.py::test_refund - assert 1\n1 failed in 3.79s",
            "FAILED test_shop.py::test_refund - ",
        ),
        ("no shop here" + 5000 * ".", "no shop here..."),
        # An assertion of Node says in the next lines what it compared.
        (
            "AssertionError [ERR]: to be equal:\n\n0 !== 1\n\n    at play (story.js:9)",
            "AssertionError [ERR]: to be equal: 0 !== 1\n",
        ),
    ],
    ids=len,
)
def test_a_command_that_fails_by_itself_is_not_examined(error: str, line: str) -> None:
    """The line that names the error is shown, of a long one its beginning."""
    ended = sweep("--", sys.executable, "-c", f"raise SystemExit({error!r})")
    assert ended.status == 1
    assert (
        f"fails without any fault, so nothing else was tried: exit status 1, {line}" in ended.output
    )
    assert max(map(len, ended.output.splitlines())) < 500


def test_a_command_that_does_not_use_its_sandbox_is_said_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pytest suite has keys for its tests; after a reset no fault strikes, so all would pass."""
    silent = sweep(*scenario(""))
    assert (silent.status, "No request of COMMAND reached the sandbox" in silent.errors) == (
        2,
        True,
    )
    others = sweep(*scenario("post('/v1/customers/', AWA, 'sk_test_of-a-test')"))
    assert others.status == 2
    for sentence in (
        "COMMAND uses worlds of other keys (of-a-test)",
        "call payments.test_app(scenario) in a test",
    ):
        assert sentence in others.errors
    resets = sweep(*scenario("post('/_emulator/reset', {})\nmake()"))
    assert resets.status == 1
    assert "it resets its world, and with it the fault that is to strike" in resets.output
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    ended = sweep("--budget", "0", *scenario("make()"))
    assert ended.status == 3, "it uses no proxy for its sandbox"
    untried = (
        r"The budget ended before one case of each kind was tried, after 0 of \d+ cases; not tried:"
        r" \S+, .*\n1 request, 0 deliveries, 2 runs\.\n"
    )
    assert re.match(untried, ended.output), ended
    assert "The budget ended after 0 of " in ended.output


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_ctrl_c_ends_the_commands_with_a_report(tmp_path: Path) -> None:
    """The fourth run, of the second case, hangs until it is ended; the first case finds a loss."""
    runs, pid = tmp_path / "runs", tmp_path / "pid"
    runs.write_text("")
    story = f"""
runs, pid = Path({str(runs)!r}), {str(pid)!r}
done = len(runs.read_text())
runs.write_text("x" * (done + 1))
if done == 3:
    Path(pid + ".part").write_text(str(os.getpid()))
    os.rename(pid + ".part", pid)
    time.sleep(600)
try:
    make()
except OSError:
    pass
"""
    cases = ("--only", "1:drop-before", "--only", "1:drop-after")
    command = [*COMMAND, "test", "app", "--jobs", "1", *cases, *scenario(story)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean()) as process:
        while not pid.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "0 customers active instead of 1" in output
    assert "Interrupted after 1 of " in output
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


COUNT_REFUNDS = """
import json, os
from urllib.request import Request, urlopen
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/_emulator/requests?operation=createRefund"
request = Request(url, headers={"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"]})
print(json.load(urlopen(request))["pagination"]["count"])
"""


def test_what_a_check_prints_is_compared_as_well(tmp_path: Path) -> None:
    """It may not depend on the fault. This one counts the refunds in the service's own journal."""
    check = tmp_path / "check.py"
    check.write_text(COUNT_REFUNDS)
    ended = sweep("--check", f"{sys.executable} {check}", "--only", "5:garbled", "--", *CLIENT)
    assert "        the check returns '2' instead of '1'\n" in ended.output
    assert UNSEEN not in ended.output


KEEPS = """
import sqlite3
data = sqlite3.connect(Path(os.environ["PAYMENTS_EMULATOR_FOLDER"], "shop.db"))
data.execute("CREATE TABLE seen (event TEXT PRIMARY KEY)")
data.execute("CREATE TABLE sold (id INTEGER PRIMARY KEY, basket TEXT, at TEXT, run INTEGER)")
data.execute("INSERT INTO seen VALUES ('evt_0123456789abcdef')")
try:
    post("/v1/customers/", AWA)
except OSError:
    data.execute("INSERT INTO seen VALUES ('evt_fedcba9876543210')")
    data.execute("INSERT INTO sold (basket) VALUES ('twice')") if BROKEN else None
at = time.strftime("%Y-%m-%dT%H:%M:%SZ")
data.execute("INSERT INTO sold (basket, at, run) VALUES ('once', ?, ?)", (at, os.getpid()))
data.commit()
"""


@pytest.mark.parametrize("is_broken", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_rows_of_a_sqlite_file_are_compared(is_broken: bool) -> None:
    """But for keys, times, ids of events, and what differs without any fault, which is said."""
    ended = sweep(
        "--check-sqlite",
        "shop.db",
        "--only",
        "1:drop-after",
        *scenario(f"BROKEN = {is_broken}" + KEEPS),
    )
    assert (
        "Left out, as logs of events or different without any fault: seen, sold.run."
        in ended.output
    )
    if is_broken:
        assert "        sold: 1 row more: basket='twice'\n" in ended.output, ended
    else:
        assert ended.output.startswith("No problem in 1 case.\n"), ended


def test_references_of_rows_are_no_part_of_what_is_compared(tmp_path: Path) -> None:
    """Nor integer keys: both depend on the order in which rows came."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as data:
        data.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT)")
        data.execute("CREATE TABLE lines (number INTEGER REFERENCES orders (id), piece TEXT)")
        data.execute("INSERT INTO orders VALUES (7, 'awa')")
        data.execute("INSERT INTO lines VALUES (7, 'basket')")
        data.commit()
    assert read(tmp_path, "shop.db") == {
        "orders": {"buyer": ["awa"]},
        "lines": {"piece": ["basket"]},
    }


def test_a_file_that_the_runs_share_is_not_compared(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    file.touch()
    ended = sweep("--check-sqlite", file, *scenario("make()"))
    assert f"{file} is not in the folder of PAYMENTS_EMULATOR_FOLDER" in ended.output


# -- ``payments.test_app(story)``: what is compared, said and counted


Story = Callable[[Emulator], Any]


def failing(payments: Emulator, story: Story, *only: str, **options: Any) -> str:
    with pytest.raises(AssertionError) as failure:
        payments.test_app(story, only=only, **options)
    return str(failure.value)


def post(payments: Emulator, path: str, body: Any, key: str | None = None) -> Any:
    """Return the answer to a request that is sent a second time if its answer is lost."""
    headers = {"Idempotency-Key": key} if key else {}
    for _ in range(2):
        with suppress(httpx.TransportError):
            return payments.client.post(path, json=body, headers=headers).json()
    raise AssertionError("the service does not answer")


def customer(payments: Emulator, name: str) -> str:
    body = {"email": f"{name}@example.com", "name": name, "phone": "+24177000000"}
    return str(post(payments, "/v1/customers/", body, name)["id"])


BASKET = {
    "mode": "payment",
    "currency": "XAF",
    "line_items": [{"description": "Basket", "unit_amount": 2000}],
}


def order(payments: Emulator) -> str:
    return str(post(payments, "/v1/checkout-sessions/", BASKET, "order")["id"])


def two_customers(payments: Emulator) -> None:
    for name in ("awa", "ben"):
        customer(payments, name)


def shop(remembers: bool) -> Story:
    """Return a shop's story: sells a basket, learns of payment by webhook, looks it up at night."""

    def play(payments: Emulator) -> Callable[[], int]:
        shipped: list[str] = []
        handled: set[str] = set()

        def receive(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            if event["type"] == "checkout.session.completed" and not (
                remembers and event["id"] in handled
            ):
                shipped.append(event["id"])
            handled.add(event["id"])
            start("200 OK", [])
            return [b""]

        def check() -> int:
            status = payments.client.get(f"/v1/checkout-sessions/{session}/").json()["status"]
            return len(shipped) or int(status == "complete")

        payments.webhooks.forward_to(receive)
        session = order(payments)
        payments.pay(session)
        return check

    return play


def test_a_careful_shop_survives_every_webhook_fault(payments: Emulator) -> None:
    """The world that is examined is not the test's own."""
    payments.customer()
    tried = [
        f"{number}:{kind}" for number in (1, 2, 3) for kind in ("lost", "late", "twice", "swapped")
    ]
    report = payments.test_app(shop(remembers=True), only=tried)
    assert (report.runs, report.findings, report.unreached) == (14, [], [])
    assert payments.client.get("/v1/customers/").json()["pagination"]["count"] == 1


def test_a_shop_that_forgets_ships_twice(payments: Emulator) -> None:
    text = failing(payments, shop(remembers=False), "lost", "twice", "answered-late")
    for words in (
        "1. An event that comes twice is handled twice: the check returns 2 instead of 1\n",
        (
            "checkout.session.completed: responded too late, so delivered again\n        the check"
            " returns 2 instead of 1\n"
        ),
        "checkout.session.completed: delivered twice\n",
    ):
        assert words in text, text
    assert "never delivered" not in text


def test_the_audit_finds_a_shop_that_verifies_nothing(payments: Emulator) -> None:
    """A forged delivery is passed on as it came: to reject it is up to the application."""
    text = failing(payments, shop(remembers=False), "1:forged")
    for words in (
        (
            ". A webhook that was tampered with was accepted (forged-webhook-believed)\n   "
            " delivery 1, "
        ),
        ": delivered after a forged copy of it\n",
        "#verify-every-webhook",
        'again: payments.test_app(scenario, only=["1:forged"])',
    ):
        assert words in text, text


def test_a_request_that_is_sent_again_in_other_words_was_sent_again(payments: Emulator) -> None:
    """Nobody who is charged twice believes that the request was not repeated."""

    def play(payments: Emulator) -> None:
        intent = {"customer": customer(payments, "awa"), "amount": 5000, "currency": "XAF"}
        for attempt in ("first", "second"):
            body = {**intent, "metadata": {"attempt": attempt}}
            response = payments.client.post(
                "/v1/payment-intents/", json=body, headers={"Idempotency-Key": attempt}
            )
            if response.is_success:
                break

    text = failing(payments, play, "2:error-after")
    assert "A request is sent again with another Idempotency-Key: a double payment" in text


def test_objects_that_belong_to_others_are_a_difference(payments: Emulator) -> None:
    """As many payments of as many customers, but two of the same."""

    def play(payments: Emulator) -> None:
        awa, ben = customer(payments, "awa"), customer(payments, "ben")
        response = payments.client.get(f"/v1/customers/{ben}/")
        for buyer in (awa, ben if response.is_success else awa):
            post(
                payments,
                "/v1/payment-intents/",
                {"customer": buyer, "amount": 5000, "currency": "XAF"},
            )

    text = failing(payments, play, "3:throttled")
    assert "customers by their payment intents: 1 with 2 instead of 2 with 1" in text
    assert "#wait-when-you-are-asked-to" in text


def test_each_fault_has_its_section_in_the_guide() -> None:
    kinds, advice = (
        (ROOT / f"docs/guide/{name}.md").read_text("utf-8") for name in ("test-app", "going-live")
    )
    assert {advice.section for advice in ADVICE.values()} <= set(
        re.findall("^### (.+)$", advice, re.MULTILINE)
    )
    assert {kind.name for kind in FAULT_KINDS} <= set(
        re.findall(r"^\| `([a-z-]+)` \|", kinds, re.MULTILINE)
    )


def test_every_kind_is_tried_once_before_any_is_tried_twice() -> None:
    """So that a budget that ends early has seen each kind."""
    tried = cases(
        [
            *(Place(REQUEST, n, "POST /v1/x/") for n in range(1, 9)),
            *(Place(DELIVERY, n, "x") for n in range(1, 30)),
        ]
    )
    # These want a delivery with a later one, about its customer too.
    elsewhere = {"stale", "overlapping", "paired"}
    abouts = (REQUEST, DELIVERY)
    kinds = {
        kind.name for kind in FAULT_KINDS if kind.about in abouts and not kind.kills
    } - elsewhere
    assert {case.kind.name for case in tried[: len(kinds)]} == kinds
    lost = [case.place.number for case in tried if case.kind.name == "lost"][:4]
    assert max(lost) - min(lost) > 14, "the first few are from all over the scenario"
    assert [case.name for case in chosen(tried, ["5:drop-*"])] == ["5:drop-after", "5:drop-before"]
    assert len(chosen(tried, ["*:twice"])) == len(chosen(tried, ["twice"])) == 29


def test_reads_are_tried_last_but_for_one_of_each_kind() -> None:
    """And what makes something comes before all of them."""
    places = [
        *(Place(REQUEST, n, "GET /v1/x/") for n in range(1, 9)),
        Place(REQUEST, 9, "DELETE /v1/x/{id}/"),
        Place(REQUEST, 10, "POST /v1/x/"),
    ]
    tried = [case for case in cases(places) if case.kind.name == "throttled"]
    assert [case.place.number for case in tried[:2]] == [10, 9]
    titles = [case.place.title[:3] for case in cases(places)]
    kinds_of_reads = [
        kind
        for kind in FAULT_KINDS
        if kind.about == REQUEST and not (kind.writes_only or kind.kills)
    ]
    reads_in_time = len(titles) - titles[::-1].index("DEL")
    assert titles[:reads_in_time].count("GET") <= len(kinds_of_reads)
    assert set(titles[reads_in_time:]) == {"GET"}


@pytest.mark.long
def test_only_one_of_equal_places_is_tried(payments: Emulator) -> None:
    """Two customers are made alike; a third one, with another outcome, is not."""

    def play(payments: Emulator) -> None:
        two_customers(payments)
        payments.client.post("/v1/customers/", json={"name": "nobody"})

    assert re.search(r"Left out: \d+ cases at places like others", failing(payments, play))
    assert "Left out" not in failing(payments, play, every=True)
    assert "Left out" not in failing(payments, play, "1:error-after", "2:error-after")


def test_a_list_names_the_cases_without_trying_them() -> None:
    ended = sweep("--list", "--only=5:*", "--", *CLIENT)
    assert ended.status == 0, ended
    names = [line.partition("  ")[0] for line in ended.output.splitlines()]
    assert {name.partition(":")[0] for name in names} == {"5"}
    lost = "5:drop-after  request 5, POST /v1/refunds/: executed, but its response was lost"
    assert lost in ended.output.splitlines()


def test_a_story_without_a_request_or_with_two_ends_is_not_examined(payments: Emulator) -> None:
    plays = count()

    def play(payments: Emulator) -> None:
        for number in range(1 + next(plays) % 2):
            customer(payments, f"buyer{number}")

    assert "it sends no request to the service" in failing(payments, lambda payments: None)
    text = failing(payments, play)
    assert re.search(r"does not end the same twice.*\n.*2 customers active instead of 1", text), (
        text
    )


def test_a_run_that_fails_before_its_fault_strikes_is_a_problem(payments: Emulator) -> None:
    """It shows nothing about the fault, and must not count as a case without a problem."""
    plays = count(1)

    def play(payments: Emulator) -> None:
        assert next(plays) != 3, "the shop does not start"
        two_customers(payments)

    text = failing(payments, play, "2:slow")
    assert "1. The scenario ended otherwise, although its fault did not strike: " in text
    assert "the scenario fails: AssertionError: the shop does not start" in text
    assert "Not reached by the scenario: 2:slow." in text


def repeating(attempts: int, pause: Callable[[httpx.Response], float], customers: int = 2) -> Story:
    """Return a story of customers whose requests repeat after a pause (seconds) by response."""

    def play(payments: Emulator) -> None:
        for name in ("awa", "ben", "cat", "dan", "eve")[:customers]:
            for _ in range(attempts):
                body = {"email": f"{name}@example.com", "name": name}
                response = payments.client.post(
                    "/v1/customers/", json=body, headers={"Idempotency-Key": name}
                )
                if response.is_success:
                    break
                time.sleep(pause(response))

    return play


def test_pauses_of_zero_are_said_once(payments: Emulator) -> None:
    """A test's client seldom waits, and forty paragraphs hide defects. A busy machine may delay."""
    pauses = chain([1.1], repeat(0.0))
    report = payments.test_app(
        repeating(3, lambda response: next(pauses), 5), only=["throttled", "error-after"]
    )
    assert report.passed
    assert report.text().count("No attempt waited") == 1
    assert "ignored-retry-after and retried-too-soon" in report.text()
