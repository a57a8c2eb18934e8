"""In a real browser another origin's page can read and change nothing by the control API."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from contract_tests.support.sandbox import Sandbox

READING = """async ({base, app}) => {
  const target = base + '/_emulator/clock?app=' + app;
  const read = async options => {
    const answer = await fetch(target, options);
    return answer.ok ? await answer.text() : null;
  };
  const element = (tag, attribute) => new Promise(done => {
    const made = document.createElement(tag);
    made.onload = () => done(tag === 'iframe' ? made.contentDocument?.body.innerText : 'loaded');
    made.onerror = () => done(null);
    made[attribute] = target;
    document.body.append(made);
  });
  const ways = {
    'fetch': () => read({}),
    'fetch without CORS': () => read({mode: 'no-cors'}),
    'frame': () => element('iframe', 'src'),
    'script': () => element('script', 'src'),
  };
  const taken = {};
  for (const [name, way] of Object.entries(ways)) {
    taken[name] = await way().catch(() => null) || null;
  }
  return taken;
}"""
"""Tries every way a page has to see an answer; what it got, by the name of the way."""

CHANGING = """async ({base, app}) => {
  const at = path => base + '/_emulator' + path + '?app=' + app;
  const target = at('/clock/advance'), body = JSON.stringify({by: '1d'});
  const headers = {'Content-Type': 'application/json'};
  const send = (url, options) => fetch(url, options).catch(() => null);
  await send(target, {method: 'POST', headers, body});
  await send(target, {method: 'POST', mode: 'no-cors', body});
  const settings = JSON.stringify({settings: {tax_rate: 18}});
  await send(at('/app'), {method: 'PATCH', headers, body: settings});
  await send(at('/faults'), {method: 'DELETE'});
  navigator.sendBeacon(target, new Blob([body], {type: 'text/plain'}));
  await new Promise(done => {
    document.body.innerHTML += `<iframe name=hidden></iframe>
      <form method=POST enctype=text/plain target=hidden action="${target}">
      <input name='{"by": "1d", "x": "' value='"}'></form>`;
    document.querySelector('iframe[name=hidden]').onload = done;
    document.querySelector('form').submit();
    setTimeout(done, 500);
  });
}"""
"""Tries every way a page has to send something that would change the world."""


def origins(sandbox: Sandbox, elsewhere: int) -> dict[str, str]:
    """Others' pages: on another site, on another port or name here, and by DNS rebinding."""
    port = sandbox.url.rsplit(":", 1)[1]
    return {
        "another site": f"http://evil.example:{elsewhere}/",
        "another port": f"http://127.0.0.1:{elsewhere}/",
        "another name": f"http://localhost:{elsewhere}/",
        "a rebound name": f"http://rebound.example:{port}/docs/errors",
    }


KINDS = (
    *("another site", "a rebound name"),
    *(pytest.param(kind, marks=pytest.mark.long) for kind in ("another port", "another name")),
)


def target(sandbox: Sandbox, page: Page) -> dict[str, str]:
    """Return where a page attacks: the sandbox; one whose own name leads there, its own origin."""
    rebound = "rebound.example" in page.url
    return {
        "base": page.evaluate("location.origin") if rebound else sandbox.url,
        "app": sandbox.key.removeprefix("sk_test_"),
    }


def read(sandbox: Sandbox, taken: dict[str, str | None]) -> set[str]:
    """Return a page's ways to learn the world's time, or of the existence of anything to embed.

    That a request is rejected is no secret: a page under a name that leads here may see it.
    """
    return {
        name for name, text in taken.items() if text and (text == "loaded" or sandbox.now in text)
    }


def state(sandbox: Sandbox) -> list[Any]:
    """What could have been changed."""
    return [sandbox.control.get(path) for path in ("/clock", "/app", "/faults", "/events")]


@pytest.fixture
def prey(sandbox: Sandbox) -> Sandbox:
    """A world with something in it to be read, changed and cleared."""
    sandbox.customer()
    sandbox.control.post("/faults", {"then": {"lose": True}, "times": 5})
    return sandbox


@pytest.mark.parametrize("kind", KINDS)
def test_another_page_reads_and_changes_nothing(
    prey: Sandbox, page: Page, elsewhere: int, kind: str
) -> None:
    before = state(prey)
    page.goto(origins(prey, elsewhere)[kind])
    taken = page.evaluate(READING, target(prey, page))
    assert len(taken) == 4
    assert read(prey, taken) == set()
    page.evaluate(CHANGING, target(prey, page))
    assert state(prey) == before
    page.evaluate(
        "href => document.body.innerHTML = `<a href='${href}'>there</a>`",
        f"{prey.url}/_emulator/clock",
    )
    with page.expect_navigation() as navigation:
        page.click("a")
    assert kind != "another site" or navigation.value.status == 403


def test_a_page_of_the_emulator_itself_does_all_that(prey: Sandbox, page: Page) -> None:
    """The same two scripts succeed where they may: so it is not they that fail above."""
    page.goto(f"{prey.url}/docs/errors")
    taken = page.evaluate(READING, target(prey, page))
    now = prey.now
    assert read(prey, taken) >= {"fetch", "frame"}
    page.evaluate(CHANGING, target(prey, page))
    clock, app, faults, _ = state(prey)
    assert (clock["now"] > now, app["settings"]["tax_rate"], faults["data"]) == (True, 18, [])


CALL = """async ({base, key}) => {
  try {
    const answer = await fetch(base + '/v1/customers/', {
      method: 'POST',
      credentials: 'include',
      headers: {
        'Authorization': 'Bearer ' + key,
        'Content-Type': 'application/json',
        'Idempotency-Key': location.host,
      },
      body: JSON.stringify({email: 'awa@example.com', name: 'Awa Diop'}),
    });
    const id = answer.headers.get('Request-Id');
    return [answer.status, id.slice(0, 4), (await answer.json()).firstname];
  } catch (error) { return [error.name] }
}"""


@pytest.mark.parametrize(
    ("domains", "host", "expected", "made"),
    [
        (["shop.example"], "shop.example", [201, "req_", "Awa"], 1),
        (["shop.example"], "evil.example", ["TypeError"], 0),
        ([], "books.example", ["TypeError"], 0),
    ],
)
def test_a_browser_lets_listed_pages_call_the_service(
    sandbox: Sandbox,
    page: Page,
    elsewhere: int,
    domains: list[str],
    host: str,
    expected: list[Any],
    made: int,
) -> None:
    """Rule 2, CORS: key, idempotency key, request id pass; other pages' calls are not even sent."""
    sandbox.api.post("/security-profiles/", {"name": "Shop", "allowed_domains": domains})
    page.goto(f"http://{host}:{elsewhere}/")
    assert page.evaluate(CALL, {"base": sandbox.url, "key": sandbox.key}) == expected
    assert sandbox.api.get("/customers/")["pagination"]["count"] == made
