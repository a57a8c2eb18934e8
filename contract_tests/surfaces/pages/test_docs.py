"""The reference pages and the catalog: what an error links to, and what the tables say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import product
from pathlib import Path

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.core.errors import CODES
from emulator.core.event_types import EVENTS
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.docs import reference

PAGES = ["/", "/docs/", "/docs/errors", "/docs/events", "/docs/assumptions"]
BROWSER = {"Accept": "text/html"}


@pytest.fixture
def site(server: RunningServer) -> Iterator[httpx.Client]:
    with http_client(base_url=server.url, headers=BROWSER) as client:
        yield client


def test_a_page_loads_nothing_from_elsewhere(site: httpx.Client) -> None:
    assets: set[str] = set()
    for path in (*PAGES, "/docs/?api=control", "/docs/?api=nothing"):
        response = site.get(path)
        assert response.status_code == 200
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["request-id"].startswith("req_")
        assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", response.text)
        assert '<html lang="en" data-base="' in response.text
        assert '<header class="top">' in response.text
        assets |= {*re.findall(r"/docs/assets/[\w-]+\.(?:js|css)", response.text)}
    for asset in assets:
        assert site.get(asset).headers["content-type"].split(";")[0] in (
            "text/javascript",
            "text/css",
        )


def test_an_unknown_page_is_not_found(site: httpx.Client) -> None:
    names = ("swagger-ui.css.map", "..%2f..%2f__init__.py", "")
    for path in ("/nothing/<script>", *(f"/docs/assets/{name}" for name in names)):
        response = site.get(path, headers={"Accept": "application/json"})
        assert (response.status_code, response.json()["code"]) == (404, "NOT_FOUND"), path


@pytest.mark.parametrize("path", ["/nothing/<script>", "/docs/nothing", "/docs/guide/nothing.md"])
def test_a_person_gets_an_unknown_page_as_a_page_with_a_way_back(
    site: httpx.Client, path: str
) -> None:
    response = site.get(path)
    assert response.status_code == 404
    assert "<title>Not found · Payments emulator</title>" in response.text
    assert '<html lang="en"' in response.text
    assert 'href="/docs/guide/"' in response.text
    assert "<script>" not in response.text
    assert site.get("/v1/nothing/").json()["code"] == "NOT_FOUND"


def test_what_stands_in_the_guide_once_stands_here_once(
    sandbox: Sandbox, site: httpx.Client
) -> None:
    """Every error, event, state, magic value, magic key has one place; ``doc_url`` leads there."""
    error = sandbox.api.rejected("GET", "/customers/cust_x/", 404, "CUSTOMER_NOT_FOUND")
    page, _, code = error["doc_url"].partition("#")
    assert f'id="{code}"' in site.get(page).text
    events, errors = site.get("/docs/events").text, site.get("/docs/errors").text
    assert [code for code in CODES if f'id="{code}"' not in errors] == []
    assert [type for type in EVENTS if f'id="{type}"' not in events] == []
    assert [life for life in STATE_MACHINES if f'id="{life.kind.kind}"' not in events] == []
    assert "+24177000001" in errors
    assert "sk_test_revoked" in errors
    assert 'id="filter"' in site.get("/docs/assumptions").text
    catalog = sandbox.control.get("/catalog")
    assert {entry["code"] for entry in catalog["error_codes"]} == set(CODES)
    assert {event["type"] for event in catalog["event_types"]} == set(EVENTS)
    paid = {"source": "open", "trigger": "pay", "target": "paid", "event": "invoice.paid"}
    assert paid in catalog["life_cycles"]["invoice"]
    assert any(key["begins"] == "revoked" for key in catalog["magic_keys"])
    assert site.get("/openapi.yaml").text.startswith("openapi: 3.0.3")
    for base, version in product(
        ("/openapi", "/_emulator/openapi", "/openapi-pages"), ("", "-3.1")
    ):
        assert site.get(f"{base}{version}.json").json()["openapi"] == (
            "3.1.0" if version else "3.0.3"
        )


def test_the_first_page_says_where_to_begin(server: RunningServer) -> None:
    """By two values and three links."""
    with http_client(base_url=server.url) as client:
        places = client.get("/").json()
        assert (places["service"], places["key"]) == (f"{server.url}/v1", "sk_test_demo")
        text = client.get("/", headers=BROWSER).text
    main = text[text.index("<main") : text.index("</main>")]
    assert f"URL  {server.url}/v1\nkey  sk_test_demo" in main
    assert re.findall(r'href="([^"]+)"', main) == ["/_emulator/", "/docs/guide/", "/docs/"]
    assert 'id="menu"' not in text


def test_every_link_within_the_pages_leads_somewhere(site: httpx.Client) -> None:
    pages = {path: site.get(path).text for path in PAGES}
    links = {link for text in pages.values() for link in re.findall(r'href="(/[^"]*)"', text)}
    assert len(links) > 20
    for link in links:
        path, _, anchor = link.partition("#")
        if path not in pages:  # As a browser follows it: what is a page there is none for programs.
            pages[path] = site.get(unescape(path), follow_redirects=True).raise_for_status().text
        assert not anchor or f'id="{anchor}"' in pages[path], link


# -- The guide's site is served as it is, and nothing around it


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    (tmp_path / "site" / "renewals").mkdir(parents=True)
    (tmp_path / "site" / "renewals" / "index.html").write_text("<h1>Test renewals</h1>", "utf-8")
    (tmp_path / "secret.txt").write_text("not for you", "utf-8")
    monkeypatch.setattr(reference, "GUIDE", tmp_path / "site")
    with RunningServer() as server, http_client(base_url=server.url) as client:
        yield client


def test_a_page_of_the_guide_is_served(served: httpx.Client) -> None:
    page = served.get("/docs/guide/renewals/")
    assert page.text == "<h1>Test renewals</h1>"
    assert page.headers["Content-Security-Policy"].startswith(
        "default-src 'none'; script-src 'self'"
    )
    assert served.get("/docs/guide").headers["Location"] == "/docs/guide/"


def test_nothing_around_the_guide_is_served(served: httpx.Client) -> None:
    for path in ("nothing/", "%2e%2e/secret.txt", "..%2fsecret.txt", "%00"):
        assert served.get(f"/docs/guide/{path}").json()["code"] == "NOT_FOUND", path


def test_the_guide_leads_to_its_text_where_the_site_was_not_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reference, "GUIDE", Path("/nowhere"))
    with (
        RunningServer() as server,
        http_client(base_url=server.url, follow_redirects=True) as client,
    ):
        places = {page: client.get(f"/docs/guide/{page}").url.path for page in ("", "renewals/")}
    assert places == {"": "/llms.txt", "renewals/": "/docs/guide/renewals.md"}


# -- compressed for a client that accepts it


@pytest.mark.parametrize("path", ["/openapi.json", "/openapi-3.1.yaml", "/llms.txt"])
def test_a_long_text_is_compressed_for_a_client_that_accepts_it(
    site: httpx.Client, path: str
) -> None:
    zipped = site.get(path, headers={"Accept-Encoding": "gzip"})
    plain = site.get(path, headers={"Accept-Encoding": "identity"})
    assert (zipped.headers["content-encoding"], zipped.headers["vary"]) == (
        "gzip",
        "Accept-Encoding",
    )
    assert "content-encoding" not in plain.headers
    assert zipped.content == plain.content
    assert int(zipped.headers["content-length"]) < int(plain.headers["content-length"]) / 2


def test_no_page_of_a_buyer_is_compressed(site: httpx.Client) -> None:
    response = site.get("/checkout/sess_unknown", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in response.headers
