"""The guide stays small: its menu, its pages, their length, and the path of five pages for a new user."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from contract_tests.quality.docs.pages import CONTRIBUTING, GUIDE, ROOT, name, samples

GROUPS = ["Start", "Test", "Examine", "Reference", "Operate"]
SERVED = {"/docs/errors", "/docs/events", "/docs/assumptions"}
"""What the emulator serves itself; it stands nowhere else."""

PATH = ["install", "quickstart", "testing", "examinations", "going-live"]
"""Install, quickstart, first test, first examination, go live."""

PAGES = sorted(GUIDE.glob("*.md"))
MOST_WORDS = 1500


def menu() -> dict[str, list[str]]:
    """Return the pages of each group, as MkDocs is given them."""
    configuration = yaml.safe_load((ROOT / "docs" / "mkdocs.yml").read_text("utf-8"))
    groups = {group: entries for each in configuration["nav"] for group, entries in each.items()}
    return {group: [page for entry in entries for page in entry.values()] for group, entries in groups.items()}


def test_the_menu_has_five_groups_and_at_most_28_entries() -> None:
    entries = [page for pages in menu().values() for page in pages]
    assert [*menu()] == GROUPS
    assert len(entries) <= 28
    assert {page for page in entries if page.startswith("/")} == SERVED


def test_the_guide_has_at_most_27_pages() -> None:
    assert len(PAGES) <= 27


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 130


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_is_long(page: Path) -> None:
    """As ``wc -w`` counts, samples and tables included."""
    assert len(page.read_text("utf-8").split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_says_first_what_it_is_for(page: Path) -> None:
    """A sentence or two below the title, before any heading, table or sample."""
    title, empty, first = page.read_text("utf-8").splitlines()[:3]
    assert (title.startswith("# "), empty) == (True, "")
    assert re.match(r"[A-Z`\[]", first), first


def test_a_new_user_has_a_path_of_five_pages() -> None:
    """The first page names them in order, each leads to the next one, and each has samples that are run."""
    first = (GUIDE / "index.md").read_text("utf-8").partition("## New here")[2].partition("##")[0]
    assert re.findall(r"\((\w[\w-]*)\.md\)", first) == PATH
    for page, following in pairwise(PATH):
        assert "Next: " in (text := (GUIDE / f"{page}.md").read_text("utf-8"))
        assert f"({following}.md)" in text.partition("Next: ")[2].splitlines()[0]
    for page in PATH:
        assert [each for each in samples(GUIDE / f"{page}.md") if not each.reason]


def test_the_glossary_is_short_and_in_order() -> None:
    text = (CONTRIBUTING / "glossary.md").read_text("utf-8")
    terms = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", text, re.MULTILINE)[1:]
    assert 20 <= len(terms) <= 25
    assert terms == sorted(terms, key=str.casefold)
