"""Recordings as Arazzo under Respect."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from contract_tests.surfaces.cli.terminal import run
from contract_tests.surfaces.clients.workflows import respect
from contract_tests.surfaces.clients.workshop import GateError, Workshop, served
from contract_tests.surfaces.recording.story import START, past_due
from emulator.testing import Emulator


def _succeeds(*arguments: str) -> None:
    ended = run(*arguments)
    if ended.status:
        raise GateError(f"{' '.join(arguments)}: {ended.errors}")


def recordings(work: Workshop, url: str) -> None:
    """A shrunk recording passes under Respect, and fails where no subscription is renewed."""
    with Emulator(key="sk_test_recordings", clock=START, seed=7, url=url) as payments:
        story = past_due(payments)
        where = ("--url", url, "--key", payments.key, "--out", str(work.folder / "recorded.arazzo.yaml"))
        _succeeds("record", "--as", "arazzo", "--shrink", "--seconds", "60", "--expect", story.expected, *where)

    def check(server: str) -> None:
        respect(work, server, served(server), work.folder / "recorded.arazzo.yaml", server=server)

    check(url)
    with _without_renewals() as wrong:
        try:
            check(wrong)
        except GateError:
            return
    raise GateError("the recording does not notice that no subscription is renewed")


WITHOUT_RENEWALS = """
from emulator.cli.main import main
from emulator.resources.registry import REGISTRY
REGISTRY.jobs["subscription.renew"] = lambda *_: None
main()
"""


@contextmanager
def _without_renewals() -> Iterator[str]:
    """The URL of an emulator in a process of its own that renews no subscription."""
    command = [sys.executable, "-c", WITHOUT_RENEWALS, "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(found[0] for line in process.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
        finally:
            process.terminate()
