"""Writes the files of this release: ``python -m contract_tests.robustness.state.golden``, once, when the version is final.

``python -m contract_tests.robustness.state.golden CHECKOUT`` writes those of an older release, from a checkout of it. It needs
Debian's PostgreSQL.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from contract_tests import postgres
from contract_tests.robustness.crashes.servers import Emulator, started
from contract_tests.robustness.state.golden import FOLDER, KEY, PUBLIC_URL
from emulator.checks.document.object_factory import OF_PATH, PREREQUISITES, ObjectFactory, webhook_receiver
from emulator.core.events import Event
from emulator.core.jobs import FailedJob, Job
from emulator.resources.registry import REGISTRY

OPTIONS = ("--clock", "frozen@2026-01-01T00:00:00Z", "--seed", "7", "--public-url", PUBLIC_URL)

CARD = {"type": "bank_card", "number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}

FAILED_JOB = {
    "id": "job_golden",
    "name": "subscription.renew",
    "due": "2026-01-31T00:00:00.000Z",
    "about": None,
    "error": "ArithmeticError: does not add up",
}
"""No request makes a job fail, so this record is brought in with a snapshot."""

LISTS = (
    *(f"/v1/{path}/?page_size=100" for path in OF_PATH if path != "payment-methods"),
    "/_emulator/events?page_size=100",
    "/_emulator/emails?page_size=100",
    "/_emulator/outcomes",
    "/_emulator/faults",
    "/_emulator/snapshots",
    "/_emulator/schedule",
    "/_emulator/app",
    "/_emulator/clock",
)


class World:
    """The world on one server, made by requests that all releases understand."""

    def __init__(self, url: str, receiver: str) -> None:
        self._factory = ObjectFactory(f"{url}/v1", {"Authorization": f"Bearer {KEY}"}, receiver, "golden")
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}, timeout=60, trust_env=False)
        self._scene: dict[str, Any] = {}
        self.exported: Any = None

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return one request, which must succeed."""
        answer = self._http.request(method, path, json=body, headers=headers)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    def make(self) -> None:
        """Every kind of record, jobs that are due later, and a snapshot of the beginning."""
        self.ask("PATCH", "/_emulator/app", {"settings": {"tax_rate": 18}})
        self._factory.object("customer", self._scene)
        self.ask("POST", "/_emulator/snapshots", {"name": "before"})
        for kind in PREREQUISITES:
            # A "paused subscription" is another subscription than the "canceled" one.
            plain = kind.rpartition(" ")[2]
            scene = (
                self._scene if kind == plain else {name: made for name, made in self._scene.items() if name != plain}
            )
            self._factory.object(kind, scene)
            self._scene[kind] = scene[kind]
        self._details()
        self.ask("POST", "/_emulator/outcomes", {"operation": "payment", "result": "failed", "match": {"amount": 1}})
        self.ask("POST", "/_emulator/faults", {"then": {"status": 503}, "match": {"customer": "golden"}})
        self.ask("POST", "/_emulator/clock/advance", {"by": "31d"})
        self._fail_a_job()

    def _details(self) -> None:
        """What the objects of the conformance run leave out: a card, a subscription that goes on, a retry to come."""
        webhook = {"name": "Shop", "url": f"{self._factory.receiver}/failing", "events": ["customer.created"]}
        self.ask("POST", "/v1/webhooks/", webhook)
        body = {"email": "awa@example.com", "name": "Awa Diop", "metadata": {"b": 1, "a": "é", "c": True}}
        customer = self.ask("POST", "/v1/customers/", body, **{"Idempotency-Key": "golden"})["id"]
        self.ask("POST", "/v1/payment-methods/", {"customer": customer, **CARD})
        self.ask("POST", "/v1/subscriptions/", {"customer": customer, "plan": self._scene["plan"]["id"]})

    def _fail_a_job(self) -> None:
        self.ask("POST", "/_emulator/snapshots", {"name": "now"})
        self.exported = self.ask("GET", "/_emulator/snapshots/now")
        self.exported[f"{KEY}/failed_job"] = {"1000000": FAILED_JOB}
        self.ask("PUT", "/_emulator/snapshots/now", self.exported)
        self.ask("POST", "/_emulator/snapshots/now/restore")
        self.ask("DELETE", "/_emulator/snapshots/now")

    def answers(self) -> dict[str, Any]:
        """What is answered for the objects, by path."""
        customer, webhook = self._scene["customer"]["id"], self._scene["failing webhook"]["id"]
        own = (
            f"/v1/customers/{customer}/addresses/",
            f"/v1/customers/{customer}/payment-methods/",
            f"/v1/webhooks/{webhook}/deliveries/",
        )
        return {path: self.ask("GET", path) for path in (*LISTS, *own)}


def write(checkout: Path, folder: Path) -> None:
    """Every file of a release: the world is made once, and converted by that release."""
    made = f"tinydb:{folder / 'worlds.json'}"
    with tempfile.TemporaryDirectory() as logs, webhook_receiver() as receiver:
        emulator = Emulator(Path(logs), made, *OPTIONS, checkout=checkout)
        with started(emulator):
            world = World(emulator.url, f"{receiver.url}/hook")
            world.make()
            (folder / "snapshot.json").write_text(in_json(world.exported), "utf-8")
            (folder / "answers.json").write_text(in_json(world.answers()), "utf-8")
            assert emulator.stop() == 0
    _convert(checkout, made, f"sqlite:///{folder / 'worlds.db'}")
    with postgres.running() as url:
        _convert(checkout, made, url)
        (folder / "worlds.sql").write_text(postgres.dumped(url), "utf-8")
    for lock in folder.glob("*.lock"):
        lock.unlink()


def _convert(checkout: Path, source: str, target: str) -> None:
    command = [sys.executable, "-m", "emulator.cli.main", "state", "convert", source, target]
    subprocess.run(command, cwd=checkout, check=True, stdout=subprocess.DEVNULL)


def in_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def missing_kinds(folder: Path) -> list[str]:
    """Return the kinds of record that the files of a release have none of."""
    names = {name.partition("/")[2] for name in json.loads((folder / "worlds.json").read_text("utf-8"))}
    return sorted({kind.kind for kind in (Job, FailedJob, Event, *REGISTRY.kinds)} - names)


def main(checkout: str = ".") -> None:
    """Write the files of a checkout's release into the folder of its version, which must not be there yet."""
    source = Path(checkout).resolve()
    asked = [sys.executable, "-c", "from emulator.version import VERSION; print(VERSION)"]
    release = subprocess.run(asked, cwd=source, check=True, capture_output=True, text=True).stdout.strip()
    folder = FOLDER / release
    if folder.exists():
        sys.exit(f"{folder} is there already; files of a release never change. Raise the version first.")
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / release
        made.mkdir()
        write(source, made)
        shutil.copy(source / "docs/guide/testing.md", made)
        if missing := missing_kinds(made):
            sys.exit(f"the world has no record of {', '.join(missing)}: have World.make() make one")
        shutil.copytree(made, folder)
    print(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()):,} bytes. Commit them with the release.")


if __name__ == "__main__":
    main(*sys.argv[1:])
