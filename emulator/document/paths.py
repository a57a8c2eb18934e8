"""Paths of the data folders that are installed with the emulator: OpenAPI documents, fixtures and the guide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]


def openapi_folder() -> Path:
    return _folder("openapi")


def fixtures_folder() -> Path:
    return _folder("fixtures")


def fixture(name: str) -> Any:
    """Return the content of ``NAME.yaml`` in the folder of the fixtures, which is the emulator's own."""
    # By PyYAML itself: a build of the package, which makes the documents, has no msgspec. On first use: it is slow to import.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((fixtures_folder() / f"{name}.yaml").read_bytes(), loader)  # noqa: S506  # both loaders are the safe one


def guide_folder() -> Path:
    inside = PACKAGE / "guide"
    return inside if inside.is_dir() else PACKAGE.parent / "build" / "guide"


def guide_pages_folder() -> Path:
    inside = PACKAGE / "guide_pages"
    return inside if inside.is_dir() else PACKAGE.parent / "docs" / "guide"


def guide_link(page: str, section: str = "") -> str:
    """Return the address of a page of the installed guide, or of one of its sections."""
    built = guide_folder() / page / "index.html"
    shown = built if built.is_file() else guide_pages_folder() / f"{page}.md"
    return shown.as_uri() + (f"#{section.lower().replace(' ', '-')}" if section else "")


def skill_file() -> Path:
    inside = PACKAGE / "skill.md"
    return inside if inside.is_file() else PACKAGE.parent / "docs" / "skill.md"


def _folder(name: str) -> Path:
    """Return a data folder: inside the package in a wheel, beside the package in a checkout."""
    inside, beside = PACKAGE / name, PACKAGE.parent / name
    return inside if inside.is_dir() else beside
