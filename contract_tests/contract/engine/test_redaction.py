"""No spelling of a card number, account, key or other secret appears anywhere."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from itertools import count
from typing import NamedTuple
from urllib.parse import quote, unquote

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.surfaces.cli.terminal import run
from emulator.checks.receiver import checks
from emulator.cli.logs import CODE_FORMS as CODE
from emulator.cli.record import FORMS as RECORDINGS
from emulator.cli.request_lines import text_line
from emulator.client.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.engine.logged_requests import MAX_BODY_BYTES, redacted_body, redacted_text
from emulator.engine.redaction import has_live_key, redact, redact_header
from emulator.resources.customers.payment_details import is_card_number
from emulator.testing import Emulator, LocalServer
from emulator.testing.collector import in_thread
from emulator.web.root_app import FinishedRequest

CARD, AMEX = "5200828282828210", "371449635398431"
IBAN, SHORT_IBAN = "FR7630006000011234567890189", "NL91ABNA0417164300"
WORD = "Zk3qT9vB2mXs7Lw4"

CORES = (CARD[:12], AMEX[:11], IBAN[6:24], SHORT_IBAN[4:], WORD)
"""What must stand nowhere, whatever stands between its characters."""


def groups(number: str, gap: str, size: int = 4) -> str:
    return gap.join(number[start : start + size] for start in range(0, len(number), size))


WIDE = {
    ord(character): ord(character) + 0xFEE0 for character in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
}
GAPS = (
    *("", " ", "   ", "\t", "\n", "\u00a0", "\u2003", "\u2009", "\u202f", "\u200b", "\u2060"),
    *("\u00ad", "-", " - ", "_", "\u2010", "\u2011", "\u2013", "\u2212", ".", "/", ",", ", "),
    *(":", ";", "|", " | ", "+", "*", "~", "·", "'", "\u3000"),
)
SPELLINGS = (
    *(groups(CARD, gap) for gap in GAPS),
    *(groups(IBAN, gap) for gap in GAPS[::2]),
    *(
        groups(CARD, " ", 1),
        groups(CARD, "-", 2),
        groups(CARD, " ", 8),
        "5200 8282-8282.8210",
        f"x{CARD}",
        f"{CARD}x",
    ),
    CARD.translate(WIDE),
    *("".join(chr(0x660 + int(digit)) for digit in CARD), f"+{CARD}"),
    f"12 {groups(CARD, ' ')} 973",
    f"{CARD} \U0001f600",
    *(
        f"1234 {groups(CARD, ' ')}",
        CARD + CARD,
        CARD + AMEX,
        f"3714 496353 98431, {AMEX}",
        f"%35{CARD[1:]}",
    ),
    *(
        IBAN.lower(),
        f"iban_{IBAN}",
        f"to {groups(IBAN, ' ')} please",
        IBAN.translate(WIDE),
        groups(SHORT_IBAN, "_"),
    ),
    *(f"sk_test_{WORD}", f"my_sk_prod_{WORD}", f"xsk_prod_{WORD}"),
    *(f"SK_TEST_{WORD}", f"pk_prod_{WORD}", f"whsec_{WORD}"),
    *(f"xwhsec_{WORD}", f"https://user:{WORD}@example.com/x"),
    *(f"//:{WORD}@redis", f"https://s3.example.com/a?b=1&sig={WORD}"),
    *(f"https://example.com/?api_key={WORD}", f"?key={WORD}"),
    *(f"password={WORD}", f"eyJhbGciOi{WORD}.eyJpc3MiOi{WORD}.x"),
    *(
        f'{{"authorization": {{"bearer": "{WORD}"}}}}',
        f'{{"tokens": ["{WORD}"]}}',
        f'{{"client_secret": "{WORD}", ',
    ),
)
"""A secret in each of the ways in which people, programs and their mistakes write it."""

ORDINARY = (
    *("cust_8fKqXb2mZs7Lw4Tt9vPq1RsA", "req_5200828282828211000000ab"),
    *("evt_00000000000000000000000a", "INV-2026-000123"),
    *(
        "ORD-2026-0000-4242-1234",
        "550e8400-e29b-41d4-a716-446655440000",
        "3f2b8c1d9e0a4f5b6c7d8e9f0a1b2c3d",
    ),
    *("2026-01-31T09:30:00.000Z", "2026-01-31 09:30:00.000"),
    *("30/01/2026 09:30:00", "23.01.2026 - 27.02.2026", "20260131093000"),
    *(
        "1767225600",
        "1767225600000",
        "1767225600000000",
        "1767225600000000000",
        "1234567890123456789",
    ),
    *("5000", "1,234,567.89", "FCFA 5 000 000", "100 000 000 000"),
    *("12345678901234", "0.30000000000000004", "-5200828282828211"),
    *(
        "+24177345678",
        "+33 6 12 34 56 78",
        "06 12 34 56 78 / 06 98 76 54 32",
        "+4915112345678",
        "+1 (415) 555-0132",
    ),
    *(
        "192.168.100.200/32, 10.0.0.1",
        "52.31.139.75:443",
        "2001:db8::1",
        "http://127.0.0.1:37985/15040373b2e0-test",
    ),
    *("awa@example.com", "https://shop.example.com/ok?order=1234&page=2"),
    *("https://shop.example.com:8443/a@b", "mailto:awa@example.com"),
    *(
        "risk_test_score",
        "task_prod_1",
        "sk_test_",
        "secret: must be at least 8 characters",
        "the password is wrong",
    ),
    *("Basic subscription", "API key", "token", "idempotency_key", "100%"),
    *("50 % off", "a=b", "x?y", "{}", '{"a": [1, 2]}'),
    *(
        "FR2026000012345678",
        "MT84MALTABCDEFG",
        "DE89370400440532013001",
        "4242424242424241",
        "5200 8282 8282 8211",
    ),
    *("9780306406157", "3 × 4242", "4242", "0000000000000000"),
    *("Ève Ossengue", "王小明", "٤٢", "[4242, 4242, 4242, 4243]"),
    *("amount=5000", "note=a - ", "[" * 100_000, "%" * 10_000),
)
"""What looks a little like a secret, and which people need to read."""


def secrets_in(text: str) -> set[str]:
    """Return a text's secrets as read through the escapes of JSON, URLs, HTML or a language."""
    for _ in range(3):
        text = re.sub(
            r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})",
            lambda match: chr(int(match[1] or match[2], 16)),
            text,
        )
        text = html.unescape(unquote(re.sub(r"\\[nt]", " ", text)))
    digits = re.sub(
        r"[^\x00-\x7f]",
        lambda other: str(unicodedata.decimal(other[0], other[0])),
        unicodedata.normalize("NFKC", text),
    )
    read = re.sub(r"[\W_]", "", digits).lower()
    return {core for core in CORES if core.lower() in read}


def test_a_spelling_is_masked_in_whatever_holds_it() -> None:
    for text in SPELLINGS:
        assert secrets_in(json.dumps(text)), "the search finds it"
        bodies = (
            *(json.dumps({"metadata": {"note": text}}), json.dumps([text], ensure_ascii=False)),
            *(
                json.dumps({"metadata": {text: 1}}),
                json.dumps({"body": json.dumps({"note": text})}),
            ),
            *(json.dumps({"note": text, "x": ""})[:-2], f"a=1&note={quote(text, safe='')}"),
            *(f"/v1/customers/{quote(text)}/", text),
        )
        redacted = [redact(body.encode()).decode() for body in bodies]
        encodings = ("utf-16", "utf-16-le", "utf-16-be")
        redacted += [
            redact(text.encode(encoding)).decode("utf-8", "replace") for encoding in encodings
        ]
        assert [
            body for body in (*redacted, redact_header("x-note", text)) if secrets_in(body)
        ] == []


def test_what_is_no_secret_stays_readable() -> None:
    for text in ORDINARY:
        for body in (text, json.dumps({"note": text, "at": [text], text: None})):
            assert redact(body.encode()).decode() == body


ESCAPED = "".join(f"\\u{ord(digit):04x}" for digit in "4242424242424242")
LOWER_IBAN = IBAN.lower()


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("4242 4242 4242 4242", "****4242"),
        ('{"number":"6304000000000000003","cvc":"123"}', '{"number":"****0003","cvc":"***"}'),
        ('{"cvc" : 123', '{"cvc" : ***'),
        ('{"note":"4242424242424242","note":"x"}', '{"note":"****4242","note":"x"}'),
        ("MT84MALT011000012345MTLCAST001S", "****"),
        ("Bearer sk_test_shop and pk_prod_shop", "Bearer sk_test_**** and pk_prod_****"),
        (
            f'{{"n\\u0075mber":"{ESCAPED}","cv\\u0063":"1\\u00323"}}',
            '{"number":"****4242","cvc":"***"}',
        ),
        (
            '{"card":{"number":"42.42/4242 4242\u00a04242","PIN":7}}',
            '{"card":{"number":"****4242","PIN":"***"}}',
        ),
        ('{"4242424242424242":1}', '{"****4242":1}'),
        (f'{{"note":"to {LOWER_IBAN} please"}}', '{"note":"to **** please"}'),
        (
            '{"secret":"whsec_Ab12","password":"x","iban":"not one"}',
            '{"secret":"whsec_****","password":"****","iban":"****"}',
        ),
        (
            '{"cvv":"1","pin":"1","account_number":"1"}',
            '{"cvv":"***","pin":"***","account_number":"****"}',
        ),
        (f'{{"number":"{ESCAPED}"', '{"number":"****4242"'),
        ("number=4242+4242+4242+4242&cvc=123", "number=****4242&cvc=***"),
        ("method%5Bn%75mber%5D=%34242%2042424242%2D4242", "method%5Bnumber%5D=****4242"),
        *(
            (f'{{"note":{number}}}', '{"note":"****8210"}')
            for number in (int(CARD), -int(CARD), float(CARD))
        ),
    ],
)
def test_secrets_in_any_spelling_become_unreadable(text: str, redacted: str) -> None:
    assert redact(text.encode()).decode() == redacted


CARDS = {
    "Visa of 13 digits": "4222222222222",
    "Diners Club": "30569309025904",
    "American Express": "371449635398431",
    "Visa": "4242424242424242",
    "Mastercard": "5555555555554444",
    "Mastercard of the second range": "2223003122003222",
    "Discover": "6011111111111117",
    "JCB": "3530111333300000",
    "UnionPay": "6200000000000005",
    "UnionPay of 81": "8171999927660000",
    "RuPay": "8200000000000007",
    "Uzcard of 97": "9704000000000018",
    "Maestro of 17 digits": "67000000000000002",
    "Maestro of 18 digits": "670000000000000001",
    "Visa of 19 digits": "4000000000000000006",
    "Maestro of 19 digits": "6700000000000000000",
}
"""A number of each range and each length, the shortest first."""


def with_check_digit(number: str) -> str:
    """Return the number with its last digit corrected (Luhn)."""
    return next(
        number[:-1] + digit for digit in "0123456789" if is_card_number(number[:-1] + digit)
    )


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("form", ['"{}"', "{}", "-{}"], ids=["text", "integer", "negative"])
def test_a_card_of_each_length_is_masked_as_text_and_as_number(name: str, form: str) -> None:
    number = with_check_digit(CARDS[name])
    body = f'{{"note":{form.format(number)}}}'
    assert redact(body.encode()).decode() == f'{{"note":"****{number[-4:]}"}}'


@pytest.mark.parametrize("name", CARDS)
def test_a_card_written_digit_by_digit_is_masked(name: str) -> None:
    number = with_check_digit(CARDS[name])
    assert redact(" ".join(number).encode()).decode() == f"****{number[-4:]}"


UNREGISTERED_IBANS = """
AO06004400006729503010102 BF42BF0840101300463574000390 BJ66BJ0610100100144390000769
CF4220001000010120069700160 CG3930011000101013451300019 CI93CI0080111301134291200589
CM2110002000300277976315008 CV64000300004547069110176 DZ580002100001113000000570
GA2140021010032001890020126 GQ7050002001003715228190196 GW04GW1430010181800637601
IR580540105180021273113007 KM4600005000010010904400137 MA64011519000001205000534921
MG4600005030071289421016045 ML13ML0160120102600100668497 MZ59000301080016367102371
NE58NE0380100100130305000268 SN08SN0100152000048500003035 TD8960002000010271091600153
TG53TG0090604310346500400070
"""
"""An account of each country that uses IBANs and has not registered their format."""


def test_accounts_of_countries_without_a_registered_format_become_unreadable() -> None:
    for iban in UNREGISTERED_IBANS.split():
        assert redact(f'{{"note":"to {iban} 2026"}}'.encode()) == b'{"note":"to **** 2026"}'


def test_no_number_is_left_half_where_a_body_is_cut() -> None:
    for length in range(MAX_BODY_BYTES - 20, MAX_BODY_BYTES + 4):
        body = b"x".ljust(length) + b"4242424242424242"
        assert b"42424" not in redacted_body(body + b" ".ljust(2 * 1024 * 1024))
        assert "42424" not in redacted_text(body + b" ".ljust(100))


def test_a_secret_by_its_name_is_masked_however_deep() -> None:
    for name in (
        *("authorization", "tokens", "accessToken", "client_secret", "x-api-key", "signature"),
        *("iban", "account_number", "password", "passwd", "sig", "bearer", "credentials", "jwt"),
        *("access_key", "privateKey"),
    ):
        for value in (12345678, WORD, {"bearer": WORD}, [WORD, {"x": [WORD]}]):
            redacted = redact(json.dumps({name: value, "ok": True}).encode()).decode()
            assert [secret for secret in (WORD, "12345678") if secret in redacted] == []
            assert json.loads(redacted)["ok"] is True


@pytest.mark.parametrize("name", ["cvc", "cvc2", "cvv", "cvv2", "csc", "pin"])
def test_a_code_is_masked_whole(name: str) -> None:
    assert redact(f'{{"{name}":"973"}}'.encode()) == f'{{"{name}":"***"}}'.encode()
    assert redact(f"{name}=973".encode()) == f"{name}=***".encode()


@pytest.mark.parametrize("name", ["number", "card_number", "cardNumber", "pan"])
def test_the_number_of_a_card_by_its_name_keeps_four_digits(name: str) -> None:
    assert redact(f'{{"{name}":"1234567"}}'.encode()) == f'{{"{name}":"****4567"}}'.encode()


@pytest.mark.parametrize("name", ["cookie", "set-cookie"])
def test_a_cookie_is_masked_whole(name: str) -> None:
    assert redact_header(name, "session=1") == "****"


LIVE = f"sk_prod_{WORD}"
BASIC = b64encode(f"{LIVE}:".encode()).decode()


def test_a_live_key_is_one_however_it_is_written() -> None:
    for text in (
        *(
            LIVE,
            f" {LIVE}\n",
            f"Bearer\t{LIVE}",
            f"Bearer {LIVE}.def",
            f"Token {LIVE}",
            LIVE.upper(),
            f"my_{LIVE}",
        ),
        *(f"basic  {BASIC.rstrip('=')}", f"Basic {b64encode(f'user:{LIVE}'.encode()).decode()}"),
        *(
            f"/v1/?key={quote(LIVE).replace('_', '%5F')}",
            f'{{"key": "{LIVE}"}}'.replace("_", "\\u005f"),
        ),
        *(f"https://{LIVE}@example.com", LIVE.replace("sk_", "pk_"), LIVE.translate(WIDE)),
    ):
        assert has_live_key("x", text), text
    basic = b64encode(f"sk_test_{WORD}:".encode()).decode()
    assert not has_live_key(
        f"Bearer sk_test_{WORD}", f"Basic {basic}", "task_prod_1", "use sk_prod_", *ORDINARY
    )


# -- the places


class World(NamedTuple):
    """A world that got all spellings in several ways, and the lines that ``serve`` prints."""

    payments: Emulator
    client: httpx.Client
    lines: list[FinishedRequest]
    customer: str
    streamed: Future[str]

    def text(self, path: str, **query: str) -> str:
        """Return the body of a response of the control API or the console."""
        response = self.client.get(path, params=query)
        assert response.status_code == 200, path
        return response.text

    @property
    def requests(self) -> list[str]:
        """The ids of all requests."""
        pages = (
            self.payments.api.get("/_emulator/requests", page_size=100, page=page)["data"]
            for page in count(1)
        )
        return [row["id"] for page in iter(lambda: next(pages), []) for row in page]


KEY, LAST = "sk_test_spellings", "last@example.com"


def followed(payments: Emulator, begun: Future[None]) -> str:
    """What the stream of a world says from now on until the customer LAST is there."""
    text = ""
    with payments.client.stream("GET", "/_emulator/stream") as stream:
        for part in stream.iter_text():
            if not begun.done():
                begun.set_result(None)
            text += part
            if LAST in text:
                break
    return text


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    lines: list[FinishedRequest] = []
    with ExitStack() as stack:
        server = LocalServer(report=lambda request, *_: lines.append(request))
        stack.callback(server.stop)
        payments = stack.enter_context(
            Emulator(key=KEY, clock="2026-01-01T00:00:00Z", server=server)
        )
        client = http_client(base_url=payments.url, headers={"Authorization": f"Bearer {KEY}"})
        stack.callback(client.close)
        api = payments.api
        begun: Future[None] = Future()
        streamed = in_thread(lambda: followed(payments, begun))
        begun.result(60)
        echo = HttpReceiver(lambda _: ReceiverReply(200, SPELLINGS[0].encode()))
        with echo:
            api.post("/v1/webhooks/", {"name": "Shop", "url": echo.url, "events": ["*"]})
            half = len(SPELLINGS) // 2
            notes = [
                {str(n): text for n, text in enumerate(part)}
                for part in (SPELLINGS[:half], SPELLINGS[half:])
            ]
            ids = [
                api.post(
                    "/v1/customers/", {"email": f"{n}@example.com", "name": "Awa", "metadata": note}
                )["id"]
                for n, note in enumerate(notes)
            ]
            api.patch(f"/v1/customers/{ids[0]}/", {"metadata": notes[1] | dict.fromkeys(notes[0])})
            api.patch(f"/v1/customers/{ids[0]}/", {"metadata": notes[0]})
            payments.settle()
        for number, spelling in enumerate(SPELLINGS):
            client.get(
                f"/v1/customers/{quote(spelling, safe='')}/",
                params={"search": spelling, spelling: "1"},
            )
            key = {"Idempotency-Key": quote(spelling, safe="")[:200], "X-Note": quote(spelling)}
            client.post(
                "/v1/customers/",
                json={"email": f"x{number}", "name": spelling, "unknown": {spelling: [spelling]}},
                headers=key,
            )
            client.post(
                "/v1/customers/",
                content=json.dumps({"note": spelling})[:-1],
                headers={"Content-Type": "application/json"},
            )
        api.post("/v1/customers/", {"email": LAST, "name": "Awa"})
        yield World(payments, client, lines, ids[0], streamed)


def _journal(world: World) -> str:
    lists = "".join(
        world.text("/_emulator/requests", page_size="100", page=str(page)) for page in range(1, 5)
    )
    entries = "".join(world.text(f"/_emulator/requests/{id}") for id in world.requests)
    assert entries.count("****8210") > len(SPELLINGS), "the search looks where the cards are"
    return lists + entries


def _shared(world: World) -> str:
    world.payments.api.post("/_emulator/snapshots", {"name": "s"})
    whole = world.text("/_emulator/snapshots/s", share="false")
    assert secrets_in(whole), "what a client writes is stored as it was sent"
    return world.text("/_emulator/snapshots/s", share="true")


PLACES: dict[str, Callable[[World], str]] = {
    "the journal": _journal,
    "the lines of serve": lambda world: "\n".join(text_line(line) for line in world.lines),
    **{
        f"a request as {form}": lambda world, form=form: "".join(
            world.text(f"/_emulator/requests/{id}", **{"as": form}) for id in world.requests[::4]
        )
        for form in CODE
    },
    **{
        f"a recording as {form}": lambda world, form=form: world.text(
            "/_emulator/recording", **{"as": form}
        )
        for form in RECORDINGS
    },
    "the console's pages of requests": lambda world: "".join(
        world.text(f"/_emulator/console/requests/{id}", app="spellings")
        for id in world.requests[::20]
    ),
    "a shared snapshot": _shared,
    "the requests of the stream": lambda world: "".join(
        part for part in world.streamed.result(60).split("\n\n") if "event: request" in part
    ),
    "an explanation": lambda world: world.text(f"/_emulator/explain/{world.customer}"),
    "the audit": lambda world: world.text("/_emulator/audit"),
}


@pytest.mark.parametrize("place", PLACES)
def test_no_spelling_is_shown(place: str, world: World) -> None:
    text = PLACES[place](world)
    assert len(text) > 100
    assert secrets_in(text) == set()


def test_no_spelling_is_in_the_report_of_certify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        checks, "CHECKS", [check for check in checks.CHECKS if check.name not in ("events", "slow")]
    )
    waiting = iter(SPELLINGS * 9)
    credentials = b64encode(b"wh_5Tn8cV2bX6mK1jH4gF7dS9aP:plain-" + WORD.encode()).decode()

    def echo(request: ReceivedRequest) -> ReceiverReply:
        return ReceiverReply(
            200, f"{next(waiting)}\n{next(waiting)}\n{request.headers['Authorization']}".encode()
        )

    with HttpReceiver(echo) as receiver:
        how = (
            "--method",
            "BASIC",
            "--webhook",
            "wh_5Tn8cV2bX6mK1jH4gF7dS9aP",
            "--secret",
            f"plain-{WORD}",
        )
        output = run("test", "receiver", receiver.url, *how, "--json").output
    assert output.count('"check"') > 5
    assert secrets_in(output) == set()
    assert credentials not in output
