"""Measure the house: ``python -m contract_tests.quality.sizes`` fails for a room, or a tree, over its budget.

A budget is where the house is; its aim is where it is to be. A change that makes a room smaller lowers the budget with it.
Lines count every line of a Python file, docstrings included; words count as ``wc -w`` does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from contract_tests import ROOT
from contract_tests.quality.docs.pages import CONTRIBUTING, GUIDE
from emulator.server.sandbox import Options
from emulator.server.server import Server
from emulator.server.thread import ServerThread

HOUSE, TREE = ROOT / "emulator", ROOT / "contract_tests"
KEY = "sk_test_sizes"


class Size(NamedTuple):
    """One figure, the most it may be now, and the most it is to be."""

    name: str
    measured: int
    budget: int
    aim: int


ROOMS = {
    "core": (2_350, 2_350),
    "document": (1_650, 1_650),
    "resources": (6_795, 6_950),
    "presentation": (1_965, 2_000),
    "engine": (5_715, 5_450),
    "web": (2_920, 2_950),
    "client": (700, 700),
    "insight": (3_100, 3_100),
    "control": (2_750, 2_750),
    "ui": (4_195, 4_300),
    "server": (700, 700),
    "testing": (2_570, 2_800),
    "checks": (4_300, 4_300),
    "cli": (4_995, 5_000),
}
"""The budget and the aim of each room, in lines."""

TESTS = {
    "contract": (12_775, 13_000),
    "surfaces": (15_740, 13_000),
    "simulator": (4_040, 4_000),
    "quality": (3_945, 2_700),
    "support": (1_450, 1_300),
}
"""The same of each room of the tests."""

_IN_REQUEST: ContextVar[bool] = ContextVar("in_request", default=False)
"""Whether what runs was begun by the request that is measured; a task has it of the one that began it."""


class Calls:
    """The calls of functions in ``emulator/`` below one request: how many, and in which files."""

    def __init__(self) -> None:
        self._is_open = False
        self._answered = threading.Event()
        self._frames: set[FrameType] = set()
        self.files: set[str] = set()

    @property
    def count(self) -> int:
        return len(self._frames)

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call; a profile function for ``threading.setprofile``.

        A coroutine that goes on after a pause is the same call: how often it pauses depends on the machine.
        """
        is_ours = event == "call" and frame.f_code.co_filename.startswith(str(HOUSE))
        if is_ours and self._is_open and _IN_REQUEST.get():
            self._frames.add(frame)
            self.files.add(frame.f_code.co_filename)

    def below(self, app: ASGIApp) -> ASGIApp:
        """Return an application that counts what it calls, until it has returned."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            is_measured = scope["type"] == "http" and self._is_open
            _IN_REQUEST.set(is_measured)
            await app(scope, receive, send)
            if is_measured:
                self._is_open = False
                self._answered.set()

        return counted

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the one request that is made within the block, from nought."""
        self._frames, self.files = set(), set()
        self._answered.clear()
        self._is_open = True
        yield
        if not self._answered.wait(30):
            raise TimeoutError("the request was not answered within 30 seconds")


def lines(folder: Path) -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in folder.rglob("*.py"))


def of_the_tree() -> list[Size]:
    """Return the sizes of each room and of the whole, in lines; of the pages in words."""
    pages = [*GUIDE.glob("*.md"), *CONTRIBUTING.glob("*.md")]
    return [
        *(Size(f"lines of {room}/", lines(HOUSE / room), *most) for room, most in ROOMS.items()),
        Size("lines of emulator/", lines(HOUSE), 44_720, 47_000),
        *(Size(f"lines of contract_tests/{room}/", lines(TREE / room), *most) for room, most in TESTS.items()),
        Size("lines of contract_tests/", lines(TREE), 38_000, 38_000),
        Size(
            "words of guide and contributors' pages",
            sum(len(each.read_text("utf-8").split()) for each in pages),
            26_990,
            27_000,
        ),
    ]


def of_requests() -> list[Size]:
    """Return what one subscription and one advance of a month run, in a server that has done both before."""
    calls = Calls()
    server = Server(Options(clock_mode="frozen", clock_at="2026-01-31T09:00:00.000Z", seed=7), "127.0.0.1", 0, None)
    application = server.sandbox.application
    server.sandbox.application = lambda: calls.below(application())  # type: ignore[method-assign]
    threading.setprofile(calls.profile)
    thread = ServerThread(server)
    threading.setprofile(None)
    url = f"http://127.0.0.1:{server.port}"
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client:

        def post(path: str, body: dict[str, Any]) -> Any:
            answer = client.post(path, json=body)
            answer.raise_for_status()
            return answer.json()

        customer = post("/v1/customers/", {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"})
        plan = post("/v1/subscription-plans/", {"name": "A", "amount": 5000, "currency": "XAF", "interval": "month"})
        terms = {"customer": customer["id"], "plan": plan["id"]}
        made = _measured(calls, lambda: post("/v1/subscriptions/", terms))
        moved = _measured(calls, lambda: post("/_emulator/clock/advance", {"by": "31d"}))
    thread.stop()
    return [
        Size("files of one POST /v1/subscriptions/", len(made[1]), 35, 40),
        Size("calls of one POST /v1/subscriptions/", made[0], 436, 455),
        Size("files of one advance by a month", len(moved[1]), 43, 44),
    ]


def _measured(calls: Calls, act: Callable[[], Any]) -> tuple[int, set[str]]:
    """Return the calls of an act and their files, the second time it is done."""
    act()
    with calls.counted():
        act()
    return calls.count, calls.files


def report(sizes: Sequence[Size]) -> int:
    """Print each figure beside its budget and its aim; return 1 if one is over its budget, otherwise 0."""
    for size in sizes:
        mark = "  over" if size.measured > size.budget else ""
        sys.stdout.write(f"{size.name:<40} {size.measured:>7,}   budget {size.budget:>7,}   aim {size.aim:>7,}{mark}\n")
    return int(any(size.measured > size.budget for size in sizes))


if __name__ == "__main__":
    sys.exit(report([*of_the_tree(), *of_requests()]))
