"""URLs that a merchant gave: which of them a page may send its buyer to or load images from."""

from __future__ import annotations

from urllib.parse import urlsplit

from emulator.web.root_app import is_host


def origins(*urls: str | None) -> list[str]:
    """The origins of those URLs that have one, without doubles."""
    return sorted({origin for url in urls if url and (origin := _origin(url))})


def _origin(url: str) -> str | None:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if is_host(parts.netloc) else None


def web_url(url: str | None) -> str | None:
    """A merchant's URL if a browser may be sent to it: ``javascript:`` and other schemes are left out."""
    return url if url and urlsplit(url).scheme.lower() in ("http", "https") else None
