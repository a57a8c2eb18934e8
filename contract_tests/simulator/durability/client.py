"""A client of one world: it asks, keeps what it was told, and looks whether that is still so."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations, count
from typing import Any, NamedTuple

import httpx

from contract_tests.simulator import world_rules
from contract_tests.simulator.durability import control, service
from contract_tests.simulator.durability.model import (
    ANY,
    GONE,
    Facts,
    Picture,
    differences,
    doubled,
    faults_of,
    outcomes_of,
)
from contract_tests.simulator.durability.operations import OPERATIONS, ResponseBody, Step
from contract_tests.support.client import http_client
from contract_tests.support.servers import CLIENT

REGISTERED = control, service
"""The modules that register operations when they are imported."""

NUMBERS = count(1)

ANSWERED, REFUSED, UNKNOWN, LOST, TORN, DOUBLED, FAILED = VERDICTS = (
    "answered",
    "refused",
    "unknown",
    "lost",
    "torn",
    "doubled",
    "failed",
)
"""``FAILED`` is a response that is no error of the service, such as one of an exception."""

NOT_DONE = "nothing was done"
"""What an error says of which the server knows that it left nothing (docs/guide/state.md)."""

WRONGLY = {ANSWERED: LOST, REFUSED: TORN}
"""The verdict of an operation of which the opposite of what was answered is so."""

MOST = 6
"""Operations of one client in one fault, at most."""

RETRY_AFTER = 0.2
"""Seconds between two requests of a client that is refused."""


class Done(NamedTuple):
    """An operation that was sent: its verdict, its response, and the facts if it was done."""

    name: str
    verdict: str
    response: ResponseBody
    after: Facts
    step: Step


class Verdict(NamedTuple):
    name: str
    verdict: str
    why: str = ""


class Client:
    """A client of the world of its own ``key``; its first operation in a fault is ``name``.

    ``facts`` are what it was told. After an operation whose outcome is not known, ``alternative``
    is what is so if it was carried out, and ``unanswered`` what can be sent again with its key.
    """

    def __init__(self, name: str, key: str, chance: random.Random) -> None:
        self.name, self.key, self._chance = name, key, chance
        self.facts = Facts("", None, "", 0, {})
        self.alternative: Facts | None = None
        self.unanswered: tuple[str, Step, str] | None = None
        self.done: list[Done] = []
        self.begun = threading.Event()
        self._url = ""
        self._reader = http_client()  # keeps its connection; each change has a new one
        self._before: Picture | None = None
        self._start = self.facts
        self.is_lost = False
        self.odd: list[str] = []

    def close(self) -> None:
        self._reader.close()

    # -- asking

    def prepare(self, url: str, receiver: str) -> None:
        """Make all that the operation needs, while nothing is wrong."""
        self._url = url
        clock, app = self._get("clock"), self._get("app")
        view = clock["now"], clock["now"], clock["mode"], clock["rate"], app["settings"]
        self.facts = Facts(*view, receiver)
        self.facts.origin = self.facts.copy()
        for name in OPERATIONS[self.name].before:
            done = self.ask(name)
            assert done is not None, f"{name} has nothing to be asked of, before {self.name}"
            assert done.verdict == ANSWERED, f"{name} before {self.name}: {done.response}"
        assert self._draw(self.name) is not None, f"{self.name} has nothing to be asked of"
        self._before = self.picture()
        wrong = differences(self.facts, self._before, self.key)
        assert not wrong, f"before {self.name}: {wrong}"
        self.done.clear()
        self._start = self.facts.copy()

    def work(self, over: threading.Event) -> None:
        """Ask for the operation, then for others, until it is over or an outcome is not known."""
        name, names = self.name, sorted(OPERATIONS)
        # Half of the clients stop after the first: another change would have stored that, too.
        most = self._chance.choice((1, MOST))
        while len(self.done) < most:
            done = self.ask(name)
            self.begun.set()
            if over.is_set() or self.alternative is not None:
                break
            if done is not None and done.verdict == REFUSED:
                over.wait(RETRY_AFTER)
            name = self._chance.choice(names)
        self.begun.set()

    def _draw(self, name: str) -> tuple[Step, str] | None:
        number = f"n{next(NUMBERS)}"
        step = OPERATIONS[name].draw(self.facts, number)
        return None if step is None else (step, number)

    def ask(self, name: str) -> Done | None:
        """Send an operation; None if there is nothing to ask it of."""
        drawn = self._draw(name)
        if drawn is None:
            return None
        step, number = drawn
        if isinstance(step.body, dict) and control.EXPORT in step.body:
            export = self._export(step.body[control.EXPORT])
            if export is None:
                return None
            step = step._replace(body=export)
        verdict, body, request = self._send(step, number)
        after = self.facts.copy()
        before = self.facts
        if verdict == ANSWERED:
            step.effect(after, body)
            after.undone = (request, before) if step.path.startswith("/v1/") else None
            self.facts = after
        elif verdict == UNKNOWN:
            step.effect(after, None)
            self.alternative, self.unanswered = after, (name, step, number)
        done = Done(name, verdict, body, after, step)
        self.done.append(done)
        return done

    def _export(self, name: str) -> Any:
        """Return the export of a snapshot, as it was read before; None if it is newer than that."""
        is_known = self._start.snapshots.get(name) is self.facts.snapshots[name]
        return self._before.snapshots.get(name) if self._before and is_known else None

    def _send(self, step: Step, number: str) -> tuple[str, Any, str]:
        """Return the verdict, the JSON of the response, and the id of the request."""
        headers = {"Authorization": f"Bearer {self.key}"}
        if step.path.startswith("/v1/") and step.method == "POST":
            headers["Idempotency-Key"] = f"{self.key}-{number}"
        if step.prefer:
            headers["Prefer"] = step.prefer
        try:
            response = CLIENT.request(
                step.method,
                self._url + step.path,
                json=step.body,
                headers=headers,
            )
        except httpx.ConnectError:
            return REFUSED, None, ""  # it was never sent
        except httpx.HTTPError:
            return UNKNOWN, None, ""
        id = response.headers.get("request-id", "")
        if not response.content:
            body = None
        elif response.headers["content-type"].startswith("application/json"):
            body = response.json()
        else:
            body = {"code": response.text}
        if response.is_success:
            return ANSWERED, body, id
        if response.status_code < 500 or NOT_DONE in response.text:
            return REFUSED, body, id
        if body is None or body["code"] != "DATABASE_ERROR":
            self.odd.append(f"{step.method} {step.path} {response.status_code} {body}")
        return UNKNOWN, body, id

    # -- looking

    def look(self, url: str, *, restarted: bool) -> Iterator[Verdict]:
        """Compare the world with the facts, and know from then on what could be seen.

        ``restarted``: the server, or the world in it, was read anew. Yields what is lost, torn or
        doubled; a world of which something is lost is not looked at again.
        """
        self._url = url
        if self.is_lost:
            return
        if restarted:
            self._start.restarted()
            self.facts.restarted()
            if self.alternative is not None:
                self.alternative.restarted()
        picture = self.picture()
        last = self.done[-1].name if self.done else self.name
        for why in doubled(picture):
            yield Verdict(last, DOUBLED, why)
        yield from (Verdict(last, FAILED, why) for why in self.odd)
        self.odd.clear()
        yield from self._judged(picture)
        if self._may_not_have_changed() and (changes := self._changes(picture)):
            yield Verdict(last, TORN, f"refused, and not as before: {changes}")
        self._before = picture
        self._adopt(picture)
        self._start = self.facts.copy()
        self.done.clear()

    def _judged(self, picture: Picture) -> Iterator[Verdict]:
        if not (wrong := differences(self.facts, picture, self.key)):
            return
        if self.alternative is not None and not differences(self.alternative, picture, self.key):
            self.facts = self.alternative
            return
        self.is_lost = True
        requests = ", ".join(f"{done.name} {done.verdict}" for done in self.done) or "nothing"
        why = f"{'; '.join(wrong)}; was asked for: {requests}"
        culprits = self._explained_by(picture)
        for done in culprits:
            yield Verdict(done.name, WRONGLY[done.verdict], why)
        if not culprits:
            name = self.done[-1].name if self.done else self.name
            yield Verdict(name, TORN if self.alternative else LOST, why)

    def _explained_by(self, picture: Picture) -> Sequence[Done]:
        """Return the fewest operations that explain a picture.

        They are some that were answered and not done, or refused and done.
        """
        known = [done for done in self.done if done.verdict != UNKNOWN]
        known.sort(key=lambda done: done.verdict == REFUSED)
        for size in range(1, len(known) + 1):
            for culprits in combinations(known, size):
                for with_unknown in (False, True):
                    there = self._start.copy()
                    for done in self.done:
                        is_unknown = done.verdict == UNKNOWN
                        is_done = done.verdict == ANSWERED or (with_unknown and is_unknown)
                        if is_done != any(done is culprit for culprit in culprits):
                            with suppress(KeyError):  # its object is not there
                                done.step.effect(there, done.response if is_done else None)
                    if not differences(there, picture, self.key):
                        return culprits
        return ()

    def _may_not_have_changed(self) -> bool:
        is_still = self.facts.mode == "frozen" and self.facts.advance is None
        return is_still and all(done.verdict == REFUSED for done in self.done)

    def _changes(self, now: Picture) -> list[str]:
        """Return which parts of the world are not as they were when it was read last."""
        if self._before is None:
            return []
        names = ("clock", "settings", "faults", "outcomes", "objects", "snapshots")
        pairs = zip(names, self._before.lasting(), now.lasting(), strict=True)
        return [f"{name}: {old!r} → {new!r}"[:300] for name, old, new in pairs if old != new]

    def again(self) -> Iterator[Verdict]:
        """Send again what was not answered, with its key: it is done now, unless it was before."""
        if self.unanswered is None:
            return
        name, step, number = self.unanswered
        self.unanswered = self.alternative = None
        if not step.path.startswith("/v1/") or step.method != "POST":
            return
        verdict, body, _ = self._send(step, number)
        if verdict == ANSWERED:
            step.effect(self.facts, body)
        self._before, self._start = None, self.facts.copy()
        yield Verdict(name, verdict)

    def sums(self) -> list[str]:
        """Return what does not add up in the whole world."""
        self._request("POST", "snapshots", {"name": "sums"})
        wrong = world_rules.flags(world_rules.exported(self._get("snapshots/sums")))
        self._request("DELETE", "snapshots/sums")
        return list(wrong)

    def _adopt(self, picture: Picture) -> None:
        """Know what could be seen."""
        self.facts.now = picture.clock["now"]
        self.facts.mode, self.facts.rate = picture.clock["mode"], picture.clock["rate"]
        if self.facts.mode == "frozen" and self.facts.advance is None:
            self.facts.latest = self.facts.now
        for key, row in picture.objects():
            fields = self.facts.objects.get(key)
            if fields is not None and fields.get("id") == ANY:
                fields["id"] = row["id"]
        for fields in self.facts.objects.values():
            if fields.get("_state") == GONE:
                fields.pop("id", None)

    def await_world(self, url: str) -> None:
        """Wait until the world can be read again."""
        self._url, until = url, time.monotonic() + 60
        while True:
            with suppress(httpx.HTTPError, AssertionError):
                self._get("clock")
                return
            assert time.monotonic() < until, "a world is not served again"
            time.sleep(0.1)

    def picture(self) -> Picture:
        counts = self._get("counts")
        rows = {kind: self._list(f"objects?kind={kind}") for kind, n in counts.items() if n}
        names = [row["name"] for row in self._list("snapshots?")]
        return Picture(
            self._get("clock"),
            self._get("app")["settings"],
            faults_of(self._list("faults?")),
            outcomes_of(self._list("outcomes?")),
            {row["name"]: row["status"] for row in self._list("inboxes?")},
            rows,
            {name: self._get(f"snapshots/{name}") for name in names},
        )

    def _list(self, path: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for page in count(1):
            content = self._get(f"{path}&page_size=100&page={page}")
            rows += content["data"]
            if page >= content["pagination"]["total_pages"]:
                break
        return rows

    def _get(self, path: str) -> Any:
        return self._request("GET", path).json()

    def _request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key}"}
        url = f"{self._url}{control.CONTROL}/{path}"
        response = self._reader.request(method, url, json=body, headers=headers)
        assert response.is_success, f"{method} {path}: {response.text}"
        return response
