"""Copies the used parts of large libraries into a wheel: unchanged code, without unused data.

Whole, they take 90 MB: place names for phone numbers, 1,000 locales, source maps. The copies are
packages below ``emulator.vendor``, so they do not get in the way of the same library in the
environment of an application.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

NAMESPACE = "emulator.vendor"


class Library(NamedTuple):
    """A library by its import name, with its distribution and its copied files."""

    name: str
    distribution: str
    wanted: Callable[[str], bool]


def libraries(languages: Iterable[str]) -> list[Library]:
    """Return the copied libraries, with the locale data of ``languages``."""
    locales = {f"locale-data/{language}.dat" for language in ("root", *languages)}
    return [
        Library(
            "babel",
            "babel",
            lambda file: not file.endswith(".dat") or file in {"global.dat", *locales},
        ),
        Library("phonenumbers", "phonenumbers", lambda file: not UNUSED_PHONE_DATA.match(file)),
        Library("flask_swagger_ui", "flask-swagger-ui", lambda file: file.endswith(EXPLORER)),
    ]


UNUSED_PHONE_DATA = re.compile(r"(geodata|tzdata|geocoder|timezone|shortdata/region_)")
"""Places, time zones, short numbers. The imported list of regions with short numbers stays."""

EXPLORER = ("/swagger-ui-bundle.js", "/swagger-ui.css")
"""Of Swagger UI; the code beside it is for applications of Flask."""


def copy_libraries(target: Path, languages: Iterable[str]) -> None:
    """Empty the folder ``target``; write the copies and their licenses into it as packages."""
    shutil.rmtree(target, ignore_errors=True)
    for library in libraries(languages):
        _copy(library, target / library.name)
    (target / "__init__.py").write_text(
        '"""Parts of other libraries, with their licences."""\n', encoding="utf-8"
    )


def _copy(library: Library, target: Path) -> None:
    for file in distribution(library.distribution).files or ():
        path = file.as_posix()
        inside = path.removeprefix(f"{library.name}/")
        is_licence = "LICENSE" in file.name
        if is_licence and inside == path:
            inside = file.name
        elif inside == path or "__pycache__" in path or not (is_licence or library.wanted(inside)):
            continue
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        content = Path(str(file.locate())).read_bytes()
        (target / inside).write_bytes(
            content if is_licence else renamed(content, library.name, Path(inside).suffix)
        )


def renamed(content: bytes, name: str, suffix: str) -> bytes:
    """Return a file's content with the library's own imports and pickles below the namespace."""
    old, new = re.escape(name).encode(), f"{NAMESPACE}.{name}".encode()
    if suffix == ".py":
        content = re.sub(
            rb"(?m)^([ \t]*(?:from|import) )" + old + rb"(?=[.\s])", rb"\1" + new, content
        )
        return content.replace(f'files("{name}")'.encode(), b'files("' + new + b'")')
    if suffix == ".dat":
        # Locale data are pickles of protocol 2, which name a class as a line with its module and
        # one with its name.
        return re.sub(rb"c" + old + rb"(\.[a-z]+\n)", rb"c" + new + rb"\1", content)
    return content
