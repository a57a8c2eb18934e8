"""``record --shrink --while COMMAND``: a command decides whether a shorter recording still shows the problem."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from emulator.cli.client import ControlClient
from emulator.cli.exec import past_proxies
from emulator.control.recording.player import WorldAnswer, play
from emulator.testing.servers import LocalServer

if TYPE_CHECKING:
    from emulator.control.recording.model import Recording
    from emulator.control.recording.shrink import Holds


class _ServedWorld:
    """A world that recordings are played in over HTTP, where a command can reach it too."""

    def __init__(self, emulator: ControlClient) -> None:
        self._emulator = emulator

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> WorldAnswer:
        """Send one request."""
        text = b"" if body is None else body.encode() if isinstance(body, str) else msgspec.json.encode(body)
        given = {"content-type": "application/json", **headers} if text else headers
        status, answer = self._emulator.exchange(method, target, given, text)
        try:
            return WorldAnswer(status, json.loads(answer) if answer else None)
        except ValueError:
            return WorldAnswer(status, answer.decode("utf-8", "replace"))


@contextmanager
def failing(command: str, app: str) -> Iterator[Holds]:
    """A check that plays a recording in a world of a server and says whether the command, run then, still fails.

    The command is a line for the shell. It finds the world by the variables that ``exec`` sets.
    """
    server, key = LocalServer(), f"sk_test_{app}"
    variables = {"PAYMENTS_EMULATOR_URL": server.url, "PAYMENTS_EMULATOR_KEY": key, **past_proxies(server.url)}
    try:
        with ControlClient(server.url, key, None, None) as emulator:
            world = _ServedWorld(emulator)

            def holds(candidate: Recording) -> bool:
                played = play(msgspec.structs.replace(candidate, url=server.url), world)
                return played.difference is None and _status(command, variables) != 0

            yield holds
    finally:
        server.stop()


def _status(command: str, variables: Mapping[str, str]) -> int:
    done = subprocess.run(  # noqa: S602  # the line is what the user typed
        command,
        shell=True,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode
