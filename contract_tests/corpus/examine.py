"""Runs an examination of a business, with a planted bug or without any."""

from __future__ import annotations

import atexit
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from contract_tests.corpus.rows import Business, Result, Row, Sound

EMULATOR = (sys.executable, "-m", "emulator.cli.main")

TIME_LIMIT = 600
"""Seconds that one examination of a bug may take, however busy the machine is."""

FAILED_STORY = 70
"""The exit status of a story that fails before `test client` can look at it."""

BROKEN = ("The scenario fails without any fault", "Without any fault the scenario does not end")
"""The beginnings of a report of `test app` that tried nothing."""

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"


running: set[subprocess.Popen[bytes]] = set()
"""The processes that `stop` ends."""


class Ended(NamedTuple):
    """How a command ended: its exit status, its output, its errors, and how long it took."""

    status: int
    output: str
    errors: str
    seconds: float


def run(command: Sequence[str], business: Business, bug: str, limit: float | None) -> Ended:
    """Run a command in the folder of a business. Its processes end with it."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        process = subprocess.Popen(
            command,
            cwd=business.folder,
            env=environment(bug, folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            process_group=0,
        )
        running.add(process)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            end(process)
        texts = [read(output), read(errors)]
    return Ended(status, *texts, time.monotonic() - began)


def read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def environment(bug: str, folder: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_")}
    commands = os.pathsep.join([str(Path(sys.executable).parent), own.get("PATH", "")])
    return {
        **own,
        "PATH": commands,
        "BUG": bug,
        "PAYMENTS_EMULATOR_FOLDER": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    running.discard(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def stop() -> None:
    """End all processes, from whatever thread they were started."""
    for process in [*running]:
        end(process)


@cache
def built(business: Business) -> str:
    """Return the folder of what a business is built to, which is built first."""
    folder = tempfile.mkdtemp(prefix=f"{business.name}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build = [word.replace("{built}", folder) for word in business.build]
    if build:
        subprocess.run(build, cwd=business.folder, check=True)
    return folder


def words(command: Sequence[str], business: Business, **values: str) -> list[str]:
    values = {**values, "built": built(business)} if business.build else values
    return [word.format(**values) for word in command]


# -- the examinations


def app(
    business: Business, clock: str, only: Sequence[str], *more: str, jobs: int = 1
) -> list[str]:
    """Return the command of `test app` for the story of a business."""
    check = words(business.check, business)
    shown = ["--check", shlex.join(check)] if check else ["--check-sqlite", business.check_sqlite]
    cases = [f"--only={case}" for case in only] + ["--reuse"] * business.reuse
    options = ["--clock", clock, "--jobs", str(jobs), *shown, *cases, *more]
    return [*EMULATOR, "test", "app", *options, "--", *words(business.story, business)]


def client(business: Business, clock: str, *more: str) -> list[str]:
    """Return a command that plays a story, and then looks at it with `test client`."""
    story = shlex.join(words(business.story, business))
    look = shlex.join([*EMULATOR, "test", "client", "--fail-on", "warning", *more])
    script = f"{story} >&2 || exit {FAILED_STORY}; exec {look}"
    return [*EMULATOR, "exec", "--clock", clock, "--", "sh", "-c", script]


@contextmanager
def served(business: Business, bug: str) -> Iterator[str]:
    """Serve a business, for `test receiver`; yield the address of its webhooks."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            words(business.serve, business, port=str(port)),
            cwd=business.folder,
            env={**environment(bug, folder), "WEBHOOK_SECRET": SECRET},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        running.add(process)
        try:
            answers(port)
            yield f"http://127.0.0.1:{port}/webhooks"
        finally:
            end(process)


def answers(port: int) -> None:
    """Wait until something listens on a port. Raises ``TimeoutError`` after a minute."""
    for _attempt in range(600):
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


def examined(
    row: Row | Business,
    examination: str,
    clock: str,
    only: Sequence[str] = (),
    *more: str,
    jobs: int = 1,
    limit: float | None = TIME_LIMIT,
) -> Ended:
    """Run an examination of a bug, or of a business without any."""
    business, bug = (row.business, row.bug) if isinstance(row, Row) else (row, "")
    if examination == "receiver":
        with served(business, bug) as url:
            command = [*EMULATOR, "test", "receiver", url, "--secret", SECRET, *more]
            return run(command, business, bug, limit)
    if examination == "client":
        return run(client(business, clock, *more), business, bug, limit)
    return run(app(business, clock, only, *more, jobs=jobs), business, bug, limit)


def judged(row: Row, clock: str) -> Result:
    """Examine a planted bug: whether it is found, and named in the first three lines."""
    if shutil.which(row.business.needs) is None and row.business.needs != "python":
        return Result(row, False, False, 0, failure=f"{row.business.needs} is missing")
    ended = examined(row, row.examination, clock, [row.only])
    lines = ended.output.splitlines()[:3]
    failure = ""
    # An examination that breaks off has printed no report.
    if ended.status not in (0, 1) or not lines or ended.output.startswith(BROKEN):
        failure = f"exit status {ended.status}: {' '.join(lines)} {ended.errors[-500:]}"
    text = " ".join(lines).lower()
    named = all(word.lower() in text for word in row.words) and bool(row.words)
    return Result(row, ended.status == 1, named, ended.seconds, lines, failure)


def sound(
    business: Business, examination: str, clock: str, only: Sequence[str], jobs: int
) -> Sound:
    """Examine a business without bugs; `test app` with the given cases, without any with all."""
    ended = examined(business, examination, clock, only, "--json", jobs=jobs, limit=None)
    try:
        report: Mapping[str, Any] = json.loads(ended.output)
    except ValueError:
        return Sound(business, examination, 0, (), ended.seconds, ended.errors[-500:])
    cases = re.search(r"(\d+) (?:of \d+ )?(?:case|check|request)", report["headline"])
    alarms = [] if ended.status == 0 else [finding["title"] for finding in report["findings"]]
    failure = "" if ended.status in (0, 1) else f"exit status {ended.status}"
    if ended.status == 1 and not alarms:
        failure = report["headline"]
    number = int(cases[1]) if cases else 0
    return Sound(business, examination, number, alarms, ended.seconds, failure)
