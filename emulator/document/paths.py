"""Paths of the data folders that are installed with the emulator: OpenAPI documents, fixtures and the guide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]


def openapi_folder() -> Path:
    return _installed("openapi", "openapi")


def fixtures_folder() -> Path:
    return _installed("fixtures", "fixtures")


def fixture(name: str) -> Any:
    """Return the content of ``NAME.yaml`` in the folder of the fixtures, which is the emulator's own."""
    # By PyYAML itself: a build of the package, which makes the documents, has no msgspec. On first use: it is slow to import.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((fixtures_folder() / f"{name}.yaml").read_bytes(), loader)  # noqa: S506  # both loaders are the safe one


def guide_folder() -> Path:
    return _installed("guide", "build/guide")


def guide_pages_folder() -> Path:
    return _installed("guide_pages", "docs/guide")


def guide_link(page: str, section: str = "") -> str:
    """Return the address of a page of the installed guide, or of one of its sections."""
    built = guide_folder() / page / "index.html"
    shown = built if built.is_file() else guide_pages_folder() / f"{page}.md"
    return shown.as_uri() + (f"#{section.lower().replace(' ', '-')}" if section else "")


def skill_file() -> Path:
    return _installed("skill.md", "docs/skill.md")


def _installed(inside: str, beside: str) -> Path:
    """Return a file or folder: inside the package in a wheel, beside the package in a checkout."""
    return PACKAGE / inside if (PACKAGE / inside).exists() else PACKAGE.parent / beside
