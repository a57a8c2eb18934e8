"""The console's forms as a browser without scripts sends them: each is a request to the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from re import DOTALL, findall, search, sub

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.visitor import PLACE, Visitor, visiting
from emulator.core.limits import CONSOLE_FORM
from emulator.engine.reference_data import named_assumptions
from emulator.ui.console import labels
from emulator.ui.console.actions import ACTIONS, FILES, STEPS_DONE, back
from emulator.ui.console.labels import DONE

ASSUMPTIONS = named_assumptions()


def test_a_move_of_the_clock_is_reported_once(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    with visiting(sandbox) as visitor:
        page = visitor.do("advance", by="31d")
        assert page.text_of("notice") == "Advanced to 1 Feb 2026, 00:00: 1 job done, 3 events."
        assert "1 Feb 2026" in page.text_of("now")
        assert not visitor.follow(str(page.response.url)).has("notice"), "a notice is shown once"


def test_the_clock_is_let_run_until_it_is_stopped(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        visitor.do("run", **{"rate:number": "60"})
        assert sandbox.control.get("/clock")["rate"] == 60
        visitor.do("freeze")
    assert sandbox.control.get("/clock")["mode"] == "frozen"
    row = sandbox.control.get("/requests")["data"][0]
    assert (row["method"], row["path"].partition("?")[0]) == ("POST", "/_emulator/clock/freeze")


WRONG: tuple[tuple[str, dict[str, str], str], ...] = (
    ("advance", {"by": "nonsense"}, "by"),
    ("advance", {"by": "1d", "until": "next"}, "one"),
    ("advance", {"to": "2020-01-01T00:00:00Z"}, "never goes back"),
    *(
        ("run", {name: value}, "cannot be read")
        for name, value in (("rate:number", "fast"), ("rate:magic", "1"))
    ),
    ("run", {"rate:number": "nan"}, "cannot be read"),
    (
        "send",
        {"_method": "POST", "_path": "/v1/customers/", "_body": "[1e999]"},
        "The body is not JSON.",
    ),
    ("fault", {}, "Choose what is to go wrong."),
    ("settings", {"settings.tax_rate:number": "101"}, "tax_rate"),
    ("settings", {"settings.nonsense": "1"}, "nonsense"),
    *(("restore", form, "no snapshot") for form in ({"_id": "../reset"}, {})),
    ("change", {"_id": "cust_0", ":json": "[" * 10_000}, "cannot be read"),
    ("change", {"_id": "cust_0", "a": "1", "a.b": "2"}, "as a whole and in parts"),
    ("change", {"_id": "cust_0", ":json": "{}"}, "cust_0"),
    ("rewind", {"to": "req_0"}, "req_0"),
    ("trigger", {"event": "nonsense"}, "event"),
)


def test_a_wrong_form_is_explained_without_any_effect(sandbox: Sandbox) -> None:
    before = sandbox.control.get("/clock")
    with visiting(sandbox) as visitor, sandbox.expect():
        for action, form, why in WRONG:
            page = visitor.do(action, **form)
            assert (page.status, 'class="notice bad"' in page.html) == (200, True), (action, form)
            assert why in page.text_of("notice")
    assert sandbox.control.get("/clock") == before


@pytest.mark.parametrize(("typed", "amount"), [("11.68", 1168), ("12", 1200)])
def test_an_outcome_is_arranged_for_an_amount_as_people_write_it(
    sandbox: Sandbox, typed: str, amount: int
) -> None:
    form = {"operation": "payment", "result": "failed", "times:number": "1", "_currency": "EUR"}
    with visiting(sandbox) as visitor:
        assert (
            'class="notice bad"' in visitor.do("outcome", "failures", **form, _amount="half").html
        )
        visitor.do("outcome", "failures", **form, _amount=typed)
    [outcome] = sandbox.control.get("/outcomes")["data"]
    assert outcome["match"]["amount"] == amount


def test_an_arranged_failure_is_a_sentence_that_can_be_removed(sandbox: Sandbox) -> None:
    """Each effect that is offered can be arranged."""

    def arranged(page: Page) -> list[str]:
        rows = findall(
            r'<li data-key="(?:outc|flt)_[^>]*><span[^>]*>(.*?)</span>\n', page.html, DOTALL
        )
        return [sub(r"<[^>]*>", "", unescape(row)) for row in rows]

    customer = sandbox.customer()["id"]
    with visiting(sandbox) as visitor:
        form = {
            "operation": "payment",
            "result": "failed",
            "code": "INSUFFICIENT_FUNDS",
            "times:number": "1",
        }
        page = visitor.do("outcome", "failures", **form, _amount="", _currency="XAF")
        assert (
            page.text_of("notice")
            == "Arranged: the next payment fails · INSUFFICIENT_FUNDS · once."
        )
        assert arranged(page) == ["the next payment fails · INSUFFICIENT_FUNDS · once"]
        assert sandbox.pay()["last_error"]["code"] == "INSUFFICIENT_FUNDS"
        assert "No failures arranged" in visitor.open("failures").text_of("arranged")
        for fault in (
            {"then:json": '{"status": 503}', "match.path": "/customers/", "times:number": "2"},
            {"then:json": '{"lose": true}', "match.event": "invoice.paid"},
        ):
            visitor.do("fault", "failures", **fault)
        form = {"operation": "payment", "result": "failed", "times:number": "1"}
        page = visitor.do("outcome", "failures", **form, **{"match.customer": customer})
        assert arranged(page) == [
            "the next payment fails · PAYMENT_METHOD_NOT_SUPPORTED · Awa Diop · once",
            "the next delivery is lost · invoice.paid · once",
            "the next request gets HTTP 503 · /customers/ · 2 times",
        ]
        lost = next(
            fault["id"]
            for fault in sandbox.control.get("/faults")["data"]
            if "lose" in fault["then"]
        )
        visitor.do("remove_fault", "failures", _id=lost)
        outcome = sandbox.control.get("/outcomes")["data"][0]["id"]
        assert len(arranged(visitor.do("remove_outcome", "failures", _id=outcome))) == 1
        assert "No failures arranged" in visitor.do("clear_faults", "failures").text_of("arranged")
        for part in ("requests", "webhooks"):
            offered = findall(
                r'<option value="(\{[^"]*)"', visitor.open("failures", about=part).html
            )
            assert len(offered) == len(labels.LABELS["offered"][part])
            for effect in offered:
                assert (
                    'class="notice good"'
                    in visitor.do("fault", "failures", **{"then:json": unescape(effect)}).html
                )


def test_settings_are_saved_as_they_are_shown(sandbox: Sandbox) -> None:
    """The form sends every setting; those that were not touched stay what they are."""

    def values(html: str) -> Iterator[tuple[str, str]]:
        form = html.split('class="card settings"')[1]
        for tag, name in findall(r'(<input [^>]*name="(settings[^"]+)"[^>]*>)', form):
            yield name, unescape(search(r'value="([^"]*)"', tag)[1])
        for name, text in findall(
            r'<textarea [^>]*name="(settings[^"]+)"[^>]*>(.*?)</', form, DOTALL
        ):
            yield name, unescape(text)
        for name, options in findall(
            r'<select [^>]*name="(settings[^"]+)"[^>]*>(.*?)</select>', form, DOTALL
        ):
            chosen = search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
            yield name, chosen[1] or chosen[2]

    before = sandbox.control.get("/app")["settings"]
    with visiting(sandbox) as visitor:
        form = dict(values(visitor.open("settings").html))
        names = {name.split(":")[0].split(".")[1] for name in form}
        assert names == before.keys() - ASSUMPTIONS.keys() - {"assumptions"}
        assert "null" not in form.values()
        assert visitor.do("settings", "settings", **form).text_of("notice") == "Settings saved."
        unnamed = {
            "name": None,
            "address": [],
            "tax_number": None,
            "email": None,
            "phone": None,
            "logo": None,
        }
        assert sandbox.control.get("/app")["settings"] == {**before, "merchant": unnamed}
        form |= {
            "settings.rate_limit:rate": "50, 100",
            "settings.merchant.address:lines": "1 rue du Port\nLibreville",
        }
        visitor.do("settings", "settings", **form)
    changed = sandbox.control.get("/app")["settings"]
    assert changed["rate_limit"] == {"per_second": 50, "burst": 100}
    assert changed["merchant"] == {**unnamed, "address": ["1 rue du Port", "Libreville"]}


def test_each_assumption_is_a_choice_with_its_meanings(sandbox: Sandbox) -> None:
    """B-99: changed for this App, and in force on the assumptions' page where the form leads."""
    with visiting(sandbox) as visitor:
        page = visitor.open("assumptions").html
        for name, assumption in ASSUMPTIONS.items():
            offered = findall(
                rf'<input type="radio" name="settings.assumptions.{name}" value="([^"]*)"', page
            )
            assert offered == list(assumption.values)
            texts = (assumption.sentence, *assumption.values.values())
            assert [text for text in texts if text not in unescape(page)] == []
        page = visitor.do(
            "settings", "assumptions", **{"settings.assumptions.webhook_success": "2xx"}
        )
        meaning = ASSUMPTIONS["webhook_success"].values["2xx"]
        assert page.text_of("notice") == f"Settings saved. {meaning}", (
            "what is different from now on"
        )
        assert "B-58" in page.text
        assert sandbox.control.get("/app")["settings"]["assumptions"]["webhook_success"] == "2xx"
        assert 'value="2xx" checked' in visitor.open("assumptions").html
        (assumptions,) = {
            unescape(link) for link in findall(r'href="(/docs/assumptions[^"#]*)"', page.html)
        }
        in_force = findall(
            r"<code>([^<]*)</code>[^<]*<strong[^>]*>in force for",
            visitor.http.get(assumptions).text,
        )
    assert len(in_force) == len(ASSUMPTIONS)
    assert "2xx" in in_force


def test_a_world_is_restored_from_an_exported_snapshot(sandbox: Sandbox) -> None:
    sandbox.customer()
    with visiting(sandbox) as visitor:
        visitor.do("save", "snapshots", name="one")
        exported = visitor.http.get(
            "/_emulator/console/snapshots/one/export", params={"app": visitor.app}
        )
        assert exported.headers["content-disposition"] == 'attachment; filename="one.json"'
        assert visitor.do("reset", "snapshots").text_of("notice").startswith("This App was reset")
        shared = visitor.http.get(
            "/_emulator/console/snapshots/one/export", params={"app": visitor.app, "share": "true"}
        )
        assert shared.headers["content-disposition"] == 'attachment; filename="one-shared.json"'
        assert (
            shared.json() == sandbox.control.get("/snapshots/one", share="true") != exported.json()
        )
        page = visitor.do(
            "import", "snapshots", _id="two", **{":json": json.dumps(exported.json())}
        )
        assert page.text_of("notice") == "Imported as two."
        assert sandbox.api.get("/customers/")["pagination"]["count"] == 0
        visitor.do("restore", "snapshots", _id="two")
        assert sandbox.api.get("/customers/")["pagination"]["count"] == 1
        assert "one" in visitor.do("delete", "snapshots", _id="two").text
        saved = [row["name"] for row in sandbox.control.get("/snapshots")["data"]]
        assert saved == ["before-restore", "one"], "what was replaced can be restored in its turn"
        visitor.do("restore", "snapshots", _id="before-restore")
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 0


def test_every_action_has_a_message() -> None:
    assert ACTIONS.keys() | set(STEPS_DONE.values()) == DONE.keys()


def test_an_object_is_set(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    with visiting(sandbox) as visitor:
        page = visitor.do(
            "change", f"objects/{customer}", _id=customer, **{":json": '{"status": "blocked"}'}
        )
        assert "blocked" in page.text
    assert sandbox.control.get(f"/objects/{customer}")["status"] == "blocked"


def test_an_event_is_triggered(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        page = visitor.do("trigger", "events", event="invoice.paid")
        assert page.text_of("notice") == "Triggered invoice.paid."
    assert "invoice.paid" in [event["type"] for event in sandbox.events()]


def test_a_request_with_its_effects_is_undone(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    request = sandbox.control.get("/requests", operation="createCustomer")["data"][0]["id"]
    with visiting(sandbox) as visitor:
        page = visitor.open(f"requests/{request}")
        assert customer in page.text_of("fields")
        assert "customer.created" in page.text_of("caused")
        assert "POST /v1/customers/" in visitor.open(f"objects/{customer}").text_of("why")
        visitor.do("rewind", to=request)
        assert visitor.open(f"objects/{customer}").status == 404


def test_forms_of_other_sites_or_no_forms_do_nothing(sandbox: Sandbox) -> None:
    before = sandbox.control.get("/clock")
    for header in (
        "Origin: https://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Host: evil.example",
    ):
        name, _, value = header.partition(": ")
        with visiting(sandbox, **{name: value}) as visitor:
            for action in ("do/advance", "choose", "login"):
                response = visitor.http.post(
                    f"{PLACE}{action}", data={"by": "1d"}, params={"app": visitor.app}
                )
                assert response.status_code == 403, (header, action)
    with visiting(sandbox) as visitor:
        for body, status in (
            (b"a" * (CONSOLE_FORM.most + 1), 413),
            (b"\xff", 400),
            (b"a&" * 300, 400),
        ):
            assert visitor.http.post(f"{PLACE}do/advance", content=body).status_code == status
        assert visitor.http.post(f"{PLACE}do/nothing", data={}).status_code == 404
    assert sandbox.control.get("/clock") == before


def test_a_form_leads_nowhere_but_to_the_console() -> None:
    """And there to where it was."""
    for path in (
        *(None, "", "https://evil.example", "//evil.example", "/_emulator/console//evil.example"),
        *("/_emulator/../v1/", "/_emulator/?a\r\nSet-Cookie: x", "/v1/", "/_emulator/\\evil"),
    ):
        assert back(path) == "/_emulator/", path
    for path in ("/_emulator/", "/_emulator/?app=shop", "/_emulator/console/objects?kind=a&page=2"):
        assert back(path) == path


def pressed(visitor: Visitor, page: Page, **chosen: str) -> Page:
    """Return the target of the recorder's form; ``chosen`` are options that its selects offer."""
    form = search(
        r'<form method="post" action="([^"]+)"[^>]*data-testid="recorder"[^>]*>(.*?)</form>',
        page.html,
        DOTALL,
    )
    assert form, page.html
    hidden = dict(findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[2]))
    for name, option in chosen.items():
        assert f'name="{name}"' in form[2]
        assert f"<option>{option}</option>" in form[2]
    fields = {name: unescape(value) for name, value in hidden.items()}
    return Page(visitor.http.post(unescape(form[1]), data={**fields, **chosen}))


@pytest.mark.parametrize("form", FILES)
def test_what_is_done_between_two_clicks_is_a_file(sandbox: Sandbox, form: str) -> None:
    sandbox.customer(email="before@example.com")
    with visiting(sandbox) as visitor:
        page = pressed(visitor, visitor.open("requests"))
        assert page.text_of("notice").startswith("Recording")
        assert page.text_of("recorded") == "Recording: 0 requests"
        visitor.do("trigger", "events", event="customer.created")
        sandbox.api.post("/customers/", {"email": "within@example.com", "name": "Awa"})
        page = visitor.open("requests")
        assert page.text_of("recorded") == "Recording: 2 requests"
        assert search(r'id="recorded" data-live', page.html), (
            "the number is brought up to date without a reload"
        )
        test = pressed(visitor, page, _as=form)
        assert test.text_of("notice") == "2 requests were recorded."
        sandbox.customer(email="after@example.com")
        text = visitor.http.get(str(test.elements["download"]["href"]))
        again = visitor.open("requests")
        assert (
            "within@"
            in visitor.follow(next(link for link in again.links if "/recording?" in link)).html
        )
    assert f'filename="{FILES[form]}"' in text.headers["content-disposition"]
    assert [f"{name}@" in text.text for name in ("before", "within", "after")] == [
        False,
        True,
        False,
    ]
    assert "record" in again.elements
    assert not again.has("recorded")


def test_a_stop_without_requests_says_so(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        started = pressed(visitor, visitor.open("requests"))
        assert (
            pressed(visitor, started).text_of("notice")
            == "Nothing was recorded: no request came since the start."
        )
        stale = pressed(visitor, started)  # the page of another tab, where it is not stopped yet
        assert stale.text_of("notice").startswith("No recording is under way")
        with sandbox.expect():
            unknown = visitor.open("recording", since="req_none")
        assert (unknown.status, "req_none" in unknown.text) == (404, True)
