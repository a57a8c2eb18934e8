"""The client is how every command speaks to a running emulator: over HTTP, with each failure told in one line."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import httpx

PATIENCE = httpx.Timeout(None, connect=5)
"""Seconds to be heard. An answer may take as long as what it is about."""

PAGE = 100
"""How many a page of a list holds at most."""


class ControlClient:
    """A running emulator, in the App of a key or of a name.

    ``timeout`` is in seconds. Everything raises ``click.ClickException``, with what to do, when no emulator is there or
    it answers with an error.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        app: str | None = None,
        token: str | None = None,
        timeout: httpx.Timeout | float = PATIENCE,
    ) -> None:
        self.url = root(url)
        headers = {b"Authorization": key and f"Bearer {key}", b"Emulator-Token": token}
        self._http = httpx.Client(
            headers=[(name, os.fsencode(value)) for name, value in headers.items() if value],
            params={"app": app} if app else {},
            timeout=timeout,
            trust_env=False,
            # Reading the authorities would take longer than all the rest.
            verify=self.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        )

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """The JSON at a path of the control API; parameters that are None are left out."""
        return self.send("GET", path, query=query).json()

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON that a POST answers."""
        return self.send("POST", path, body=body, headers=headers).json()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """One request to the control API, or to a path under /v1, and its answer, which is a success."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        with _told(self.url):
            request = self._http.build_request(method, self._at(path), params=given, json=body, headers=headers)
            answer = self._http.send(request)
        return accepted(answer)

    def pages(self, path: str, limit: int, **query: Any) -> Iterator[Any]:
        """The first so many of a list, in its order."""
        size, page = min(limit, PAGE), 1
        while limit > 0:
            answer = self.get(path, page=page, page_size=size, **query)
            yield from answer["data"][:limit]
            limit, page = limit - size, page + 1
            if page > answer["pagination"]["total_pages"]:
                return

    def of_every_app(self, path: str, **query: Any) -> Iterator[tuple[str, Any]]:
        """The JSON at a path in each App whose world is open, with the App's name."""
        # Imported here: with keys come worlds, which no other command needs.
        from emulator.resources.app.keys import Key

        for app in [*self.pages("/apps", 100_000)]:
            key = Key(app["name"], app["livemode"])
            answer = self.send("GET", path, query=query, headers={"Authorization": f"Bearer {key}"})
            yield app["name"], answer.json()

    def stream(self, types: str) -> Iterator[tuple[str, Any]]:
        """What happens from now on, as kind and object: first a beginning of kind ``open``, then what is asked for.

        It ends only by an error: that the emulator is gone.
        """
        with _told(self.url), self._http.stream("GET", self._at("/stream"), params={"types": types}) as answer:
            if not answer.is_success:
                answer.read()
            accepted(answer)
            yield "open", None
            yield from messages(answer.iter_lines())
        raise click.ClickException(f"the emulator at {self.url} has ended")

    def _at(self, path: str) -> str:
        return f"{self.url}{'' if path.startswith('/v1/') else '/_emulator'}{path}"


def root(url: str) -> str:
    """Where the emulator is: ``localhost:4747`` will do, and so will the address of its API."""
    return (url if "://" in url else f"http://{url}").rstrip("/").removesuffix("/v1")


def messages(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Server-sent events as kind and JSON object."""
    kind, data = "message", ""
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data += value
        elif not line and data:
            yield kind, json.loads(data)
            kind, data = "message", ""


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Failures to speak with an emulator are told as what to do about them."""
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
        raise click.ClickException(nobody(url, fault)) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
        message = f"{url!r}: a URL such as http://127.0.0.1:4747"
        raise click.BadParameter(message, param_hint="'--url'") from None
    except httpx.HTTPError as fault:
        message = f"the emulator at {url} broke off: {str(fault) or type(fault).__name__}"
        raise click.ClickException(message) from None


def nobody(url: str, fault: Exception) -> str:
    """That there is no emulator, and how to come by one."""
    return f"no emulator at {url} ({fault}); start one with 'payments-emulator serve', or say where it is with --url"


def accepted(answer: httpx.Response) -> httpx.Response:
    """The answer if it is a success; else its refusal."""
    # Every answer of an emulator has its id, and errors are JSON, flat or nested as the App's settings say.
    if "request-id" not in answer.headers:
        where = answer.request.url.copy_with(query=None)
        raise click.ClickException(f"no emulator: {where} answered {answer.status_code}; is something else there?")
    if not answer.is_success:
        raise click.ClickException(refusal(answer.json()))
    return answer


def refusal(told: Any) -> str:
    """Why something was refused, in the emulator's words."""
    error = told.get("error", told)
    reasons = [f"{name}: {', '.join(why)}" for name, why in error.get("errors", {}).items()]
    hint = "; give the token with --control-token" if "Emulator-Token" in error["message"] else ""
    return f"{error['code']}: {'; '.join(reasons) or error['message']}{hint}"
