"""The tests' client: HTTP with a key, and every single answer held against the document."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import httpx

from contract_tests.support.contract import Contract
from contract_tests.support.quick_client import Connections, QuickClient
from contract_tests.surfaces.coverage.watch import WATCH

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no certificate, for plain HTTP: reading the authorities took half of the suite's time."""


def http_client(**options: Any) -> httpx.Client:
    kind = httpx.Client if {"transport", "limits"} & options.keys() else QuickClient
    return kind(**{"trust_env": False, "verify": NO_AUTHORITIES, "timeout": 60, **options})


class Client:
    """Calls a document's operations; a response that it forbids fails the test at once."""

    def __init__(
        self,
        url: str,
        contract: Contract,
        key: str | None,
        connections: Connections | None = None,
    ) -> None:
        self.contract = contract
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = http_client(
            base_url=url + contract.base_path, headers=headers, connections=connections
        )

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        response = self.http.request(method, path, **options)
        faults = self.contract.faults(
            method,
            response.request.url.path,
            response.status_code,
            response.headers,
            response.content,
        )
        # An error that a header asks for is about an example, not about the request.
        if "emulator-answer" not in response.request.headers:
            faults += self.contract.misnamed(
                method, response.request.url.path, response.status_code, response.content
            )
        WATCH.judged.add(response.headers.get("request-id", ""))
        assert not faults, (
            f"{method} {path} -> {response.status_code} breaks the document: {faults}"
        )
        return response

    def get(self, path: str, **query: Any) -> Any:
        return self._ok(self.request("GET", path, params=query or None))

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._ok(self.request("POST", path, json=body or {}, headers=headers))

    def patch(self, path: str, body: Any) -> Any:
        return self._ok(self.request("PATCH", path, json=body))

    def delete(self, path: str) -> Any:
        return self._ok(self.request("DELETE", path))

    def rejected(self, method: str, path: str, status: int, code: str, **options: Any) -> Any:
        """Return the JSON of a rejection, with this status and code, in the documented shape."""
        response = self.request(method, path, **options)
        body = response.json()
        error = body.get("error", body)
        assert (response.status_code, error["code"]) == (status, code), response.text
        return error

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        """Yield every object of a list, following ``next``."""
        page = self.get(path, **query)
        while True:
            yield from page["data"]
            if page["pagination"]["next"] is None:
                return
            page = self._ok(self.request("GET", page["pagination"]["next"]))

    def close(self) -> None:
        self.http.close()

    @staticmethod
    def _ok(response: httpx.Response) -> Any:
        assert response.is_success, (
            f"{response.request.method} {response.request.url}: {response.text}"
        )
        return response.json() if response.content else None
