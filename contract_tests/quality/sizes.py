"""Measure the house: ``python -m contract_tests.quality.sizes`` prints rooms, modules, lines, and what a request runs.

The aims stand in the architecture page. Lines count every line of a Python file, docstrings included.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import httpx

from contract_tests import ROOT
from contract_tests.support.sandbox import RunningServer

HOUSE = ROOT / "emulator"
KEY = "sk_test_sizes"


class Size(NamedTuple):
    """One figure and what it should be at most."""

    name: str
    measured: int
    aim: int


class Calls:
    """The calls of functions in ``emulator/`` while it is open: how many, and in which files."""

    def __init__(self) -> None:
        self._open = False
        self.count = 0
        self.files: set[str] = set()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call; a profile function for ``threading.setprofile``."""
        if self._open and event == "call" and frame.f_code.co_filename.startswith(str(HOUSE)):
            self.count += 1
            self.files.add(frame.f_code.co_filename)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count from here to the end of the block, from nought."""
        self.count, self.files, self._open = 0, set(), True
        yield
        self._open = False


def lines(folder: Path) -> int:
    """Return how many lines the Python files of a folder have."""
    return sum(len(file.read_text("utf-8").splitlines()) for file in folder.rglob("*.py"))


def of_the_tree() -> list[Size]:
    """Return rooms, modules and lines."""
    rooms = [path for path in HOUSE.iterdir() if (path / "__init__.py").exists()]
    loose = [path for path in HOUSE.glob("*.py") if path.stem not in ("__init__", "version")]
    return [
        Size("rooms at the top of emulator/", len(rooms) + len(loose), 12),
        Size("modules", len(list(HOUSE.rglob("*.py"))), 280),
        Size("lines of emulator/", lines(HOUSE), 42_000),
        Size("lines of contract_tests/", lines(ROOT / "contract_tests"), 48_000),
    ]


def of_requests() -> list[Size]:
    """Return what one subscription and one advance of a month run, in a server that has done both before."""
    calls = Calls()
    threading.setprofile(calls.profile)
    server = RunningServer(strict=False)  # as ``serve`` starts
    threading.setprofile(None)
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client:

        def post(path: str, body: dict[str, Any]) -> Any:
            answer = client.post(path, json=body)
            assert answer.is_success, answer.text
            return answer.json()

        customer = post("/v1/customers/", {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"})
        plan = post("/v1/subscription-plans/", {"name": "A", "amount": 5000, "currency": "XAF", "interval": "month"})
        terms = {"customer": customer["id"], "plan": plan["id"]}
        measured = _measured(calls, lambda: post("/v1/subscriptions/", terms))
        moved = _measured(calls, lambda: post("/_emulator/clock/advance", {"by": "31d"}))
    server.stop()
    return [
        Size("files of one POST /v1/subscriptions/", len(measured[1]), 40),
        Size("calls of one POST /v1/subscriptions/", measured[0], 500),
        Size("files of one advance by a month", len(moved[1]), 45),
    ]


def _measured(calls: Calls, act: Callable[[], Any]) -> tuple[int, set[str]]:
    """Return the calls of an act and their files, the second time it is done."""
    act()
    with calls.counted():
        act()
    return calls.count, calls.files


def main() -> None:
    """Print each figure beside its aim."""
    for size in (*of_the_tree(), *of_requests()):
        mark = "" if size.measured <= size.aim else "  over"
        sys.stdout.write(f"{size.name:<40} {size.measured:>7,}   aim {size.aim:>7,}{mark}\n")


if __name__ == "__main__":
    main()
