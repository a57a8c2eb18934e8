"""Calls of one world over HTTP: its key is on every request, and an error of the service is raised as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

JSON = dict[str, Any]
"""An object of the service, as its document describes it."""

PATIENCE = httpx.Timeout(60, read=300)
"""Seconds (real time). An advance answers only when everything that fell due is done."""

RACING = {"Prefer": "respond-async"}
"""The header of a call of the control API that is not to wait for the webhooks and emails that it causes."""

MOST = 100
"""Objects on one page of a list."""


class RequestRefused(Exception):
    """The emulator answered with an error; ``status``, ``code`` and ``param`` are those of its body."""

    def __init__(self, response: httpx.Response) -> None:
        request = response.request
        told = _error(response)
        self.response = response
        self.status = response.status_code
        self.code: str | None = told.get("code")
        self.param: str | None = told.get("param")
        self.message: str = told.get("message") or response.text[:500]
        super().__init__(f"{request.method} {request.url.path} -> {self.status} {self.code or ''}: {self._told(told)}")

    def _told(self, told: JSON) -> str:
        faults = told.get("errors") or {}
        if len(faults) > 1:
            return "".join([self.message, *(f"\n  {name}: {'; '.join(said)}" for name, said in faults.items())])
        return self.message if self.param is None or self.param in self.message else f"{self.message} ({self.param})"


def _token() -> dict[str, str]:
    token = os.environ.get("PAYMENTS_EMULATOR_CONTROL_TOKEN")
    return {"Emulator-Token": token} if token else {}


def _error(response: httpx.Response) -> JSON:
    try:
        body = response.json()
    except ValueError:
        return {}
    told = body.get("error", body) if isinstance(body, dict) else {}
    return told if isinstance(told, dict) else {}


class Api:
    """JSON in, JSON out. Paths are whole ones: ``/v1/customers/``, ``/_emulator/clock``.

    ``client`` is the plain httpx client below. ``check`` is called before each request and may raise. A server that
    demands a control token is given the one of ``PAYMENTS_EMULATOR_CONTROL_TOKEN``.
    """

    def __init__(self, url: str, key: str, check: Callable[[], None] = lambda: None) -> None:
        self.client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}", **_token()},
            timeout=PATIENCE,
            # What talks to loopback needs no proxy and, without TLS, none of the 20 ms that loading certificates takes.
            trust_env=False,
            verify=url.startswith("https:"),
            event_hooks={"request": [lambda request: check()]},
        )

    def get(self, path: str, /, **query: Any) -> Any:
        """The answer to a GET."""
        return self.call("GET", path, params={name: value for name, value in query.items() if value is not None})

    def post(self, path: str, body: Mapping[str, Any] | None = None, /, **headers: str) -> Any:
        """The answer to a POST."""
        return self.call("POST", path, json=body or {}, headers=headers)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer to a PATCH."""
        return self.call("PATCH", path, json=body)

    def delete(self, path: str) -> Any:
        """The answer to a DELETE, often None."""
        return self.call("DELETE", path)

    def call(self, method: str, path: str, **options: Any) -> Any:
        """The JSON (None without a body) of any request; raises :class:`RequestRefused` for an error."""
        __tracebackhide__ = True
        response = self.client.request(method, path, **options)
        if not response.is_success:
            raise RequestRefused(response)
        return response.json() if response.content else None

    def newest(self, path: str, **query: Any) -> Iterator[JSON]:
        """Every object of a list, newest first, read page by page as they are asked for."""
        page = self.get(path, page_size=MOST, **query)
        yield from page["data"]
        while following := page["pagination"]["next"]:
            page = self.get(following)
            yield from page["data"]

    def oldest(self, path: str, **query: Any) -> list[JSON]:
        """Every object of a list, oldest first."""
        return list(self.newest(path, **query))[::-1]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
