"""Completion: what the shell is given of commands, options, event types and what a running emulator has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.conftest import Cli
from emulator.core.event_types import EVENTS


@pytest.fixture
def complete(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What a line that was typed so far can go on with."""

    def complete(line: str) -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv("_PAYMENTS_EMULATOR_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        result = cli()
        assert (result.status, result.errors) == (0, "")
        return [row.partition(",")[2] for row in result.output.split()]

    return complete


def test_commands_and_options_complete(
    cli: Cli, complete: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no emulator is nothing completes and nothing is said. Each shell has its script."""
    for line, words in {
        "wo": ["world"],
        "clock ": ["show", "advance", "next", "freeze", "run"],
        "clock advance --u": ["--until-event", "--url"],
        "emails --kind re": ["receipt", "renewal_failed", "refund"],
        "trigger ": list(EVENTS),
        "events --type inv": ["invoice.paid", "invoice.payment_overdue"],
    }.items():
        assert complete(f"payments-emulator {line}") == words
    for url in ("http://127.0.0.1:1", "ftp://nowhere"):
        monkeypatch.setenv("PAYMENTS_EMULATOR_URL", url)
        assert complete("payments-emulator world load ") == []
    monkeypatch.delenv("_PAYMENTS_EMULATOR_COMPLETE")
    for shell, word in (("zsh", "#compdef payments-emulator"), ("fish", "complete")):
        assert word in cli("completion", shell).output


def test_what_a_running_emulator_has_completes(sandbox: Sandbox, complete: Callable[[str], list[str]]) -> None:
    for name in ("before-renewal", "after-renewal"):
        sandbox.control.post("/snapshots", {"name": name})
    sandbox.subscribe()
    (email,) = sandbox.control.get("/emails")["data"]
    assert complete("payments-emulator world load b") == ["before-renewal"]
    assert complete("payments-emulator world load ") == ["after-renewal", "before-renewal"]
    assert complete("payments-emulator emails ") == [email["id"]]
    assert len(complete("payments-emulator world rewind req_")) >= 3
    other = f"--app other-{sandbox.key.removeprefix('sk_test_')}"
    assert complete(f"payments-emulator world load {other} ") == []


def test_bash_takes_the_script(cli: Cli, tmp_path: Path) -> None:
    """The shell itself asks the program that is on its path."""
    program = tmp_path / "payments-emulator"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m emulator.cli.main "$@"\n')
    program.chmod(0o755)
    script = cli("completion", "bash").output
    asking = "COMP_WORDS=(payments-emulator sch) COMP_CWORD=1; _payments_emulator_completion; echo ${COMPREPLY[@]}"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{asking.replace('_completion;', '_completion payments-emulator;')}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert done.stdout.split() == ["schedule"], done.stderr
