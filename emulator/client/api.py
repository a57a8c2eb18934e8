"""The client of one world: sends its key with all requests, raises errors as exceptions.

A payment is made as a buyer does, from the short arguments of a test or a command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import urlsplit

from emulator.client.connections import Connections, Timeouts
from emulator.client.messages import JSON, ApiRequest, ApiResponse

API_TIMEOUTS = Timeouts(connect=60, response=300)
"""An advance responds only when all jobs that became due have run."""

HELPER = "payments-emulator"
"""These clients' user agent. They wait for whole advances; no examination blames an application."""

PAGE = 100
"""The most objects on one page of a list."""

RACING = {"Prefer": "respond-async"}
"""The header of a call of the control API that is not to wait for the webhooks that it causes."""


class RequestOptions(TypedDict, total=False):
    """The parts of a request beside method and path. Parameters that are None are left out."""

    query: Mapping[str, object]
    json: object
    content: bytes
    headers: Mapping[str, str]


class RequestRefused(Exception):
    """The emulator's error response; ``status``, ``code`` and ``param`` come from its body."""

    def __init__(self, response: ApiResponse) -> None:
        request = response.request
        error = response.error()
        self.response = response
        self.status: int = response.status_code
        self.code: str | None = error.get("code")
        self.param: str | None = error.get("param")
        self.message: str = error.get("message") or response.text[:500]
        path = urlsplit(request.target).path
        super().__init__(
            f"{request.method} {path} -> {self.status} {self.code or ''}: {self._details(error)}"
        )

    def _details(self, error: JSON) -> str:
        fields = error.get("errors") or {}
        if len(fields) > 1:
            return "".join(
                [
                    self.message,
                    *(f"\n  {name}: {'; '.join(texts)}" for name, texts in fields.items()),
                ]
            )
        return (
            self.message
            if self.param is None or self.param in self.message
            else f"{self.message} ({self.param})"
        )


class Api:
    """Sends and returns JSON. Paths are complete: ``/v1/customers/``, ``/_emulator/clock``.

    ``check`` is called before each request, and may raise. ``token`` is the control token, by
    default that of ``PAYMENTS_EMULATOR_CONTROL_TOKEN``; ``params`` are part of each query.
    ``connections`` may be shared.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        check: Callable[[], None] = lambda: None,
        connections: Connections | None = None,
        *,
        token: str | None = None,
        params: Mapping[str, str] | None = None,
        timeouts: Timeouts = API_TIMEOUTS,
    ) -> None:
        self._check = check
        self._params = params or {}
        self.connections: Connections = connections or Connections(url, timeouts)
        self.url = url
        self.token: str | None = token or os.environ.get("PAYMENTS_EMULATOR_CONTROL_TOKEN")
        headers = {
            "authorization": key and f"Bearer {key}",
            "emulator-token": self.token,
            "user-agent": HELPER,
        }
        self.headers: dict[str, bytes] = {
            name: os.fsencode(value) for name, value in headers.items() if value
        }

    def get(self, path: str, /, **query: object) -> Any:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: object = None, /, **headers: str) -> Any:
        return self.call("POST", path, json=body or {}, headers=headers)

    def patch(self, path: str, body: Mapping[str, object]) -> Any:
        return self.call("PATCH", path, json=body)

    def delete(self, path: str) -> object:
        return self.call("DELETE", path)

    def call(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Any:
        """Send any request and return the JSON of the response (None without a body).

        Raises :class:`RequestRefused` for an error.
        """
        __tracebackhide__ = True
        response = self.send(method, path, **options)
        return response.json() if response.content else None

    def send(self, method: str, path: str, **options: Unpack[RequestOptions]) -> ApiResponse:
        """Send a request; return its successful response. Raises :class:`RequestRefused`."""
        __tracebackhide__ = True
        response = self.request(method, path, **options)
        if not response.is_success:
            raise RequestRefused(response)
        return response

    def request(
        self,
        method: str,
        path: str,
        *,
        timeouts: Timeouts | None = None,
        **options: Unpack[RequestOptions],
    ) -> ApiResponse:
        """Send any request and return its response, an error too."""
        __tracebackhide__ = True
        self._check()
        return self.connections.exchange(self._prepared(method, path, **options), timeouts)

    def _prepared(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] = {},
        headers: Mapping[str, str] = {},
        json: object = None,
        content: bytes = b"",
    ) -> ApiRequest:
        parameters = {
            name: value for name, value in {**self._params, **query}.items() if value is not None
        }
        return ApiRequest.of(
            method,
            path,
            query=parameters,
            json=json,
            content=content,
            headers={**self.headers, **headers},
        )

    def newest(self, path: str, *, size: int = PAGE, **query: object) -> Iterator[Any]:
        """Yield a list's objects, newest first; read pages of ``size`` objects on demand."""
        for number in count(1):
            page = self.get(path, page=number, page_size=size, **query)
            page = page.get("entries", page)  # of the ledger
            yield from page["data"]
            if number >= page["pagination"]["total_pages"]:
                return

    def oldest(self, path: str, *, size: int = PAGE, **query: object) -> list[Any]:
        return list(self.newest(path, size=size, **query))[::-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connections.disconnect()


# -- payments


PAYABLE = {"sess": "checkout-sessions", "link": "payment-links", "inv": "invoices"}
"""The kinds of object that can be paid, by the prefix of their ids."""


def page_id(target: str) -> str:
    """Return the id at the end of a page's URL; an id itself unchanged."""
    return urlsplit(target).path.rstrip("/").rpartition("/")[2]


def pay_path(target: str | Mapping[str, object]) -> str:
    """Return the path that pays a session, link or invoice, given as object, id or page's URL.

    Raises ``ValueError`` for anything else.
    """
    id = str(target["id"]) if isinstance(target, Mapping) else page_id(target)
    kind = PAYABLE.get(id.partition("_")[0])
    if kind is None:
        raise ValueError(
            f"{id!r} is not payable. Give the id, or the URL of the page, of a checkout session"
            " (sess_…), a payment link (link_…) or an invoice (inv_…)"
        )
    return f"/_emulator/{kind}/{id}/pay"


def method(**arguments: object) -> JSON:
    """Return the body's ``method`` from ``phone``, ``card``, ``iban`` or ``email``; empty without.

    Raises ``ValueError`` if more than one is given.
    """
    arguments = {name: value for name, value in arguments.items() if value is not None}
    if len(arguments) > 1:
        raise ValueError(f"pay by one of {', '.join(sorted(arguments))}, not by all of them")
    for name, value in arguments.items():
        return {"method": METHODS[name](value)}
    return {}


_CARD = {"type": "bank_card", "exp_month": 12, "exp_year": 2099, "cvc": "123"}

METHODS: dict[str, Callable[[object], JSON]] = {
    "phone": lambda phone: {"type": "mobile_money", "phone": phone},
    "card": lambda card: {**_CARD, **(card if isinstance(card, Mapping) else {"number": card})},
    "iban": lambda iban: {"type": "bank_transfer", "iban": iban},
    "email": lambda email: {"type": "paypal", "email": email},
}
"""The payment method for each argument."""
