"""Paths of the data folders installed with the emulator: OpenAPI documents, fixtures, guide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulator.version import GUIDE_URL

PACKAGE = Path(__file__).resolve().parents[1]


def _installed(inside: str, beside: str) -> Path:
    """Return a file or folder: inside the package in a wheel, beside the package in a checkout."""
    return PACKAGE / inside if (PACKAGE / inside).exists() else PACKAGE.parent / beside


OPENAPI = _installed("openapi", "openapi")
FIXTURES = _installed("fixtures", "fixtures")
GUIDE = _installed("guide", "build/guide")
GUIDE_PAGES = _installed("guide_pages", "docs/guide")
SKILL = _installed("skill.md", "docs/skill.md")


def fixture(name: str) -> Any:
    """Return the content of ``NAME.yaml`` in the emulator's own folder of fixtures."""
    # By PyYAML itself: a build of the package, which makes the documents, has no msgspec. On first
    # use: it is slow to import.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    # both loaders are the safe one
    return yaml.load((FIXTURES / f"{name}.yaml").read_bytes(), loader)  # noqa: S506


def guide_link(page: str, section: str = "") -> str:
    """Return the address of a page of the published guide, or of one of its sections.

    An installation whose guide is not published has it as files.
    """
    built = GUIDE / page / "index.html"
    page_file = built if built.is_file() else GUIDE_PAGES / f"{page}.md"
    address = f"{GUIDE_URL}{page}/" if GUIDE_URL else page_file.as_uri()
    return address + (f"#{section.lower().replace(' ', '-')}" if section else "")
