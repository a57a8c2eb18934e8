"""The red button, pressed without a script: the forms and links of the pages themselves are followed."""

from __future__ import annotations

import re
from html import unescape

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.visitor import Visitor, visiting
from emulator.ui.console.actions import FILES


def pressed(visitor: Visitor, page: Page, **chosen: str) -> Page:
    """Return where the form of the recorder leads; ``chosen`` are options that its selects offer."""
    found = re.search(
        r'<form method="post" action="([^"]+)"[^>]*data-testid="recorder"[^>]*>(.*?)</form>', page.html, re.S
    )
    assert found, page.html
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', found[2]))
    for name, option in chosen.items():
        assert f'name="{name}"' in found[2]
        assert f"<option>{option}</option>" in found[2]
    fields = {name: unescape(value) for name, value in hidden.items()}
    return Page(visitor.http.post(unescape(found[1]), data={**fields, **chosen}))


@pytest.mark.parametrize("form", FILES)
def test_what_is_done_between_two_clicks_is_a_file(sandbox: Sandbox, form: str) -> None:
    sandbox.customer(email="before@example.com")
    with visiting(sandbox) as visitor:
        page = pressed(visitor, visitor.open("requests"))
        assert page.said("notice").startswith("Recording")
        assert page.said("recorded") == "Recording: 0 requests"
        visitor.do("trigger", "events", event="customer.created")
        sandbox.api.post("/customers/", {"email": "within@example.com", "name": "Awa"})
        page = visitor.open("requests")
        assert page.said("recorded") == "Recording: 2 requests"
        assert re.search(r'id="recorded" data-live', page.html), "the number is brought up to date without a reload"
        test = pressed(visitor, page, _as=form)
        assert test.said("notice") == "2 requests were recorded."
        sandbox.customer(email="after@example.com")
        text = visitor.http.get(str(test.elements["download"]["href"]))
        again = visitor.open("requests")
        assert "within@" in visitor.follow(next(link for link in again.links if "/recording?" in link)).html
    assert f'filename="{FILES[form]}"' in text.headers["content-disposition"]
    assert [f"{each}@" in text.text for each in ("before", "within", "after")] == [False, True, False]
    assert "record" in again.elements
    assert not again.has("recorded")


def test_a_stop_without_requests_says_so(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        started = pressed(visitor, visitor.open("requests"))
        assert pressed(visitor, started).said("notice") == "Nothing was recorded: no request came since the start."
        stale = pressed(visitor, started)  # the page of another tab, where it is not stopped yet
        assert stale.said("notice").startswith("No recording is under way")
        with sandbox.expect():
            unknown = visitor.open("recording", since="req_none")
        assert (unknown.status, "req_none" in unknown.text) == (404, True)
