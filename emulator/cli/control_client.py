"""The client of the control API that all commands use; each failure is reported in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import click

from emulator.client.api import PAGE, Api
from emulator.client.connections import ConnectionFailed, NoConnection, Timeouts
from emulator.client.messages import ApiRequest, ApiResponse, InvalidRequest

CONTROL_TIMEOUTS = Timeouts(connect=5, response=None)
"""A response may take any time: that of an advance comes when it is complete."""

PROBE = Timeouts(connect=5, response=5)
"""The limits of a request that only finds out whether an emulator responds."""


class NoEmulator(click.ClickException):
    """No emulator responds at the given URL."""

    code = "NO_EMULATOR"


class Rejected(click.ClickException):
    """The emulator's error response: ``body`` as it came, and a sentence for people."""

    def __init__(self, body: Any) -> None:
        self.body, error = body, body.get("error", body)
        reasons = [f"{name}: {', '.join(why)}" for name, why in error.get("errors", {}).items()]
        hint = (
            "; give the token with --control-token" if "Emulator-Token" in error["message"] else ""
        )
        self.code = error["code"]
        super().__init__(f"{'; '.join(reasons) or error['message'].rstrip('.')}{hint}")


class ControlClient(Api):
    """A running emulator for one App (key or name). Non-service paths are below ``/_emulator``.

    All methods raise ``click.ClickException``, which says what to do, if there is no emulator or
    its response is an error.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        app: str | None = None,
        token: str | None = None,
        timeouts: Timeouts = CONTROL_TIMEOUTS,
    ) -> None:
        with _explained(root(url)):
            super().__init__(
                root(url), key, token=token, params={"app": app} if app else None, timeouts=timeouts
            )

    def is_running(self) -> bool:
        try:
            self.connections.exchange(ApiRequest("GET", "/_emulator/health"), PROBE)
        except ConnectionFailed:
            return False
        return True

    def send(self, method: str, path: str, **options: Any) -> ApiResponse:
        return accepted(self.url, self.request(method, path, **options))

    def request(self, method: str, path: str, **options: Any) -> ApiResponse:
        with _explained(self.url):
            try:
                return super().request(method, _at(path), **options)
            except InvalidRequest as error:
                raise click.ClickException(str(error)) from None

    def pages(self, path: str, limit: int, **query: Any) -> Iterator[Any]:
        return islice(self.newest(path, size=min(limit, PAGE), **query), limit)

    def first(self, path: str, limit: int, **query: Any) -> tuple[list[Any], int]:
        """Return the first objects of a list, ``limit`` at most, and the number of them all."""
        size = min(limit, PAGE)
        page = self.get(path, page=1, page_size=size, **query)
        objects = page["data"]
        while len(objects) < limit and page["pagination"]["next"]:
            page = self.get(path, page=page["pagination"]["page"] + 1, page_size=size, **query)
            objects += page["data"]
        return objects[:limit], page["pagination"]["count"]

    def whole_id(self, start: str) -> str:
        """Return the one id with this start (as narrow terminals show it), else the text itself.

        Raises ``click.UsageError`` if several begin with it.
        """
        start = start.removesuffix("…")
        if len(start.partition("_")[2]) >= 24:
            return start
        if start.startswith("req_"):
            matches = self.pages("/requests", 1_000)
        else:
            matches = iter(self.get("/search", query=start, page_size=PAGE)["data"])
        ids = [match["id"] for match in matches if match["id"].startswith(start)]
        if start in ids:
            return start
        if len(ids) > 1:
            first = ", ".join(ids[:2]) + (", …" if len(ids) > 2 else "")
            raise click.UsageError(f"{len(ids)} ids begin with {start}: {first}; write more of it")
        return ids[0] if ids else start

    def stream(self, types: str) -> Iterator[tuple[str, Any]]:
        """Yield stream messages' kind and object, ``open`` first; only an error ends the stream."""
        request = self._prepared("GET", _at("/stream"), query={"types": types})
        with _explained(self.url), self.connections.stream(request) as (head, lines):
            accepted(self.url, head)
            yield "open", None
            yield from messages(lines)
        raise click.ClickException(f"the emulator at {self.url} has ended")


def _at(path: str) -> str:
    return path if path.startswith(("/v1/", "/_emulator")) else f"/_emulator{path}"


def root(url: str) -> str:
    """Return the emulator's root URL, from ``localhost:4747`` or the URL of its API as well."""
    return (url if "://" in url else f"http://{url}").rstrip("/").removesuffix("/v1")


def messages(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
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
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except NoConnection as error:
        start = "Start one: payments-emulator serve; or give its URL with --url"
        raise NoEmulator(f"no emulator is running at {url} ({error}). {start}") from None
    except ValueError:
        message = f"{url!r} is not a URL such as http://127.0.0.1:4747"
        raise click.BadParameter(message, param_hint="'--url'") from None
    except ConnectionFailed as error:
        message = f"the connection to the emulator at {url} failed: {error}"
        raise click.ClickException(message) from None


def accepted(url: str, response: ApiResponse) -> ApiResponse:
    # Every response of an emulator has a request id, and its errors are JSON, flat or nested as the
    # App's settings say.
    if "request-id" not in response.headers:
        path = response.request.target.partition("?")[0]
        raise NoEmulator(
            f"there is no emulator: {url}{path} returned {response.status_code}; is another"
            " program listening there?"
        )
    if not response.is_success:
        raise Rejected(response.json())
    return response
