"""The guide's site is served as it is, and nothing around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from contract_tests.support.sandbox import RunningServer
from emulator.ui.docs import reference


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """A site of one page."""
    (tmp_path / "site" / "renewals").mkdir(parents=True)
    (tmp_path / "site" / "renewals" / "index.html").write_text("<h1>Test renewals</h1>", "utf-8")
    (tmp_path / "secret.txt").write_text("not for you", "utf-8")
    monkeypatch.setattr(reference, "guide_folder", lambda: tmp_path / "site")
    server = RunningServer()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client
    server.stop()


def test_a_page_is_served_and_runs_nothing_from_elsewhere(served: httpx.Client) -> None:
    page = served.get("/docs/guide/renewals/")
    assert page.text == "<h1>Test renewals</h1>"
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")


def test_without_its_slash_it_leads_to_the_one_with(served: httpx.Client) -> None:
    assert served.get("/docs/guide").headers["Location"] == "/docs/guide/"


@pytest.mark.parametrize(
    "path", ["/docs/guide/nothing/", "/docs/guide/%2e%2e/secret.txt", "/docs/guide/..%2fsecret.txt", "/docs/guide/%00"]
)
def test_what_is_not_there_is_not_found(served: httpx.Client, path: str) -> None:
    assert served.get(path).json()["code"] == "NOT_FOUND"


def test_where_the_site_was_not_built_links_lead_to_its_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "guide_folder", lambda: Path("/nowhere"))
    server = RunningServer()
    with httpx.Client(base_url=server.url, timeout=60, follow_redirects=True) as client:
        answers = [client.get(f"/docs/guide/{page}") for page in ("", "renewals/", "nothing/")]
    server.stop()
    assert [(answer.status_code, answer.url.path) for answer in answers] == [
        (200, "/llms.txt"),
        (200, "/docs/guide/renewals.md"),
        (404, "/docs/guide/nothing/"),
    ]
