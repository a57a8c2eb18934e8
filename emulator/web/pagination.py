"""The list envelope: a page of records with counts and the absolute URLs of its neighbours (B-19)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from emulator.core.handlers import Page
from emulator.core.records import list_to_wire
from emulator.web.context import RequestContext
from emulator.web.query import fields


def envelope(page: Page[Any], context: RequestContext) -> dict[str, Any]:
    """The list as it is sent. ``previous`` of a page past the end is the last page there is."""
    pages = -(-page.count // page.page_size)
    previous = min(page.page - 1, pages)
    return {
        "object": "list",
        "data": list_to_wire(page.data),
        "pagination": {
            "count": page.count,
            "total_pages": pages,
            "page": page.page,
            "page_size": page.page_size,
            "previous": _url(context, previous) if previous >= 1 else None,
            "next": _url(context, page.page + 1) if page.page < pages else None,
        },
    }


def _url(context: RequestContext, number: int) -> str:
    """The URL of this request with another page number and the same other parameters."""
    return f"{context.base_url}{_target(context.path, context.query_string)}{number}"


@lru_cache(maxsize=64)
def _target(path: str, query: bytes) -> str:
    """Path and query of a list, up to the page number."""
    others = [(name, value) for name, value in fields(query) if name != "page"]
    return f"{quote(path)}?{urlencode([*others, ('page', '')])}"
