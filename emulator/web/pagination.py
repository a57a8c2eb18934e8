"""The list envelope: a page of records with counts and the absolute URLs of its neighbours (B-19)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from starlette.types import Scope

from emulator.core.handlers import Page
from emulator.core.records import to_wire
from emulator.web.query import fields


def envelope(page: Page[Any], base_url: str, scope: Scope) -> dict[str, Any]:
    """The list as it goes on the wire. ``previous`` of a page past the end is the last real page."""
    pages = -(-page.count // page.page_size)
    previous = min(page.page - 1, pages)
    return {
        "object": "list",
        "data": [to_wire(record) for record in page.data],
        "pagination": {
            "count": page.count,
            "total_pages": pages,
            "page": page.page,
            "page_size": page.page_size,
            "previous": _url(base_url, scope, previous) if previous >= 1 else None,
            "next": _url(base_url, scope, page.page + 1) if page.page < pages else None,
        },
    }


def _url(base_url: str, scope: Scope, number: int) -> str:
    """The URL of this request with another page number, its other parameters kept."""
    others = [(name, value) for name, value in fields(scope["query_string"]) if name != "page"]
    return f"{base_url}{quote(scope['path'])}?{urlencode([*others, ('page', number)])}"
