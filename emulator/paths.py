"""Places are the folders of data that travel with the emulator: its OpenAPI documents and its fixtures."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def openapi_folder() -> Path:
    """The folder of the hand-written OpenAPI documents and of their bundles."""
    return _folder("openapi")


def fixtures_folder() -> Path:
    """The folder of the fixtures: magic values and worlds to start from."""
    return _folder("fixtures")


def guide_folder() -> Path:
    """The folder of the guide as a site; in a checkout there is one once MkDocs has built it."""
    inside = PACKAGE / "guide"
    return inside if inside.is_dir() else PACKAGE.parent / "build" / "guide"


def _folder(name: str) -> Path:
    """A wheel carries the folder inside the package; in a checkout it lies beside the package."""
    inside, beside = PACKAGE / name, PACKAGE.parent / name
    return inside if inside.is_dir() else beside
