"""``python -m docs.exam``: twelve tasks on the example shops, for assistants and people, with hidden graders.

``list`` names the tasks. ``start TASK FOLDER`` writes the shop of a task, and its text, to a new folder. ``grade TASK
FOLDER`` runs the hidden grader there. ``verify [TASK …]`` shows for each task that its grader fails on the folder as it
starts, with the sentences that it should find, and passes with the reference solution.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"

SERVE = f"""
from wsgiref.simple_server import make_server
from shop import Shop
with make_server("127.0.0.1", 0, Shop("", "", "{SECRET}")) as server:
    print(f"http://127.0.0.1:{{server.server_port}}/webhooks", flush=True)
    server.serve_forever()
"""


class Task(NamedTuple):
    """A task. ``checks`` are what its grader runs; ``unsolved`` is in the report on the folder as it starts."""

    name: str
    shop: str
    hidden: Sequence[str]
    checks: Sequence[dict[str, Any]]
    unsolved: Sequence[str]

    @property
    def folder(self) -> Path:
        """Where its text, grader and solution are."""
        return HERE / "tasks" / self.name

    def start(self, folder: Path) -> None:
        """Write the shop without its solution, and the text, to a new folder."""
        shutil.copytree(EXAMPLES / self.shop, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        self.apply(folder, "--reverse")
        shutil.copy(self.folder / "task.md", folder / "TASK.md")

    def apply(self, folder: Path, *options: str) -> None:
        """Apply the reference solution. Raises ``CalledProcessError`` where it does not fit."""
        # Otherwise git would read the paths from the top of a repository around the folder.
        alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}
        subprocess.run(
            ["git", "apply", *options, str(self.folder / "solution.patch")], cwd=folder, env=alone, check=True
        )

    def grade(self, folder: Path) -> Iterator[tuple[bool, str]]:
        """Run the checks on a copy with the grader's own files; for each whether it passed, and its report."""
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(temporary, "shop")
            shutil.copytree(folder, copy)
            for name in self.hidden:
                shutil.copy(EXAMPLES / self.shop / name, copy / name)
            for check in self.checks:
                ended = certified(copy) if check.get("receiver") else emulator(copy, *shlex.split(check["run"]))
                yield ended.returncode == 0 and check["expect"] in ended.stdout, ended.stdout


def tasks() -> dict[str, Task]:
    """Return the tasks by name."""
    files = sorted(HERE.glob("tasks/*/grader.yaml"))
    return {file.parent.name: Task(file.parent.name, **yaml.safe_load(file.read_text("utf-8"))) for file in files}


def emulator(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the emulator in a folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-m", "emulator.cli.main", *arguments],
        cwd=folder,
        env={**own, "PATH": path, "PYTHONPATH": str(HERE.parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def certified(folder: Path) -> subprocess.CompletedProcess[str]:
    """Serve the shop of a folder, and send its receiver valid and invalid webhooks."""
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as shop:
        assert shop.stdout
        try:
            return emulator(
                folder, "test", "receiver", shop.stdout.readline().strip(), "--secret", SECRET, "--timeout", "60"
            )
        finally:
            shop.kill()


def graded(task: Task, folder: Path) -> tuple[bool, str]:
    """Return whether a folder passes, and the reports of the checks that failed."""
    results = [*task.grade(folder)]
    failed = [report for passed, report in results if not passed]
    return not failed, "\n".join(failed)


def verified(task: Task) -> Iterator[str]:
    """Return the problem of a task, if there is one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "work")
        task.start(folder)
        passed, report = graded(task, folder)
        if passed:
            yield "passes unsolved"
        yield from (f"{sentence!r} is not in\n{report}" for sentence in task.unsolved if sentence not in report)
        task.apply(folder)
        passed, report = graded(task, folder)
        if not passed:
            yield f"fails with the reference solution:\n{report}"


def main(arguments: Sequence[str]) -> int:
    """Run a command; the exit status."""
    known = tasks()
    parser = argparse.ArgumentParser(prog="python -m docs.exam", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    for command in ("start", "grade"):
        asked = commands.add_parser(command)
        asked.add_argument("task", choices=known)
        asked.add_argument("folder", type=Path)
    commands.add_parser("verify").add_argument("tasks", nargs="*")
    chosen = parser.parse_args(arguments)
    if chosen.command == "verify":
        return verify([known[name] for name in chosen.tasks or known])
    if chosen.command == "list":
        for task in known.values():
            print(f"{task.name:30} {re.sub('^# ', '', (task.folder / 'task.md').read_text('utf-8')).splitlines()[0]}")
        return 0
    task = known[chosen.task]
    if chosen.command == "start":
        task.start(chosen.folder)
        print(f"{chosen.folder}: read TASK.md")
        return 0
    passed, report = graded(task, chosen.folder)
    print("passed" if passed else f"{report}\nfailed")
    return int(not passed)


def verify(chosen: Sequence[Task]) -> int:
    """Verify tasks, with a line for each; the number that is wrong."""
    wrong = 0
    for task in chosen:
        problems = [*verified(task)]
        print(
            f"{'FAILED' if problems else 'ok    '} {task.name}",
            *problems,
            sep="\n       " if problems else "",
            flush=True,
        )
        wrong += bool(problems)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
