"""Plays the Dockerfile in a folder, without Docker, and uses the result as a stranger would.

    python -m contract_tests.quality.package.container

Every step is taken but ``useradd`` and the removal of pip: folders of the image become folders
below the one of the play.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contract_tests import ROOT

FOLDERS = ("/source", "/wheels", "/opt/emulator", "/state", "/init")
"""The image's folders that the Dockerfile speaks of."""

MOST = 120_000_000
"""Bytes of the image as it is pulled, for one platform."""

BASE = 46_000_000
"""Bytes of python:3.13-slim as it is pulled, which cannot be measured without a registry."""

PLUGIN_TEST = """
def test_a_customer(payments):
    awa = {"email": "awa@example.com", "name": "Awa Diop"}
    customer = payments.client.post("/v1/customers/", json=awa).json()
    payments.clock.advance("31d")
    assert payments.client.get(f"/v1/customers/{customer['id']}/").json() == customer
"""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


class Play:
    """What a Dockerfile comes to, in a folder instead of an image."""

    def __init__(self, folder: Path, source: Path = ROOT) -> None:
        self.folder, self.source = folder, source
        shims = folder / "python"
        shims.mkdir()
        self.python = shims / "python"
        self.python.symlink_to(sys.executable)
        self.environment = {
            "PATH": f"{shims}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
        }
        self.health: list[str] = []
        self.start: list[str] = []
        self.workdir = folder
        (folder / "state").mkdir()

    def placed(self, text: str) -> str:
        """Return a text with the image's folders become those of the play."""
        return re.sub(rf"(?<![\w.])({'|'.join(FOLDERS)})\b", rf"{self.folder}\1", text)

    def take(self, word: str, rest: str) -> None:
        """Take one step. Raises ``KeyError`` for one this play does not know."""
        print(f"{word} {rest}", flush=True)
        {
            "ARG": lambda: None,
            "FROM": lambda: None,
            "COPY": lambda: self.copy(*rest.split()),
            "RUN": lambda: self.run(rest),
            "USER": lambda: None,
            "WORKDIR": lambda: setattr(self, "workdir", Path(self.placed(rest))),
            "ENV": lambda: self.environment.update(self.assigned(pair) for pair in rest.split()),
            "EXPOSE": lambda: None,
            "HEALTHCHECK": lambda: self.health.extend(json.loads(rest[rest.index("[") :])),
            "ENTRYPOINT": lambda: self.start.extend(json.loads(rest)),
            "CMD": lambda: self.start.extend(json.loads(rest)),
        }[word]()

    def assigned(self, pair: str) -> tuple[str, str]:
        name, _, value = self.placed(pair).partition("=")
        return name, value.replace("$PATH", self.environment["PATH"])

    def copy(self, source: str, *rest: str) -> None:
        """Copy git's files of the checkout; nothing of another stage: both are this folder."""
        if source == ".":
            copy_checkout(self.source, Path(self.placed(rest[0])))

    def run(self, command: str) -> None:
        # Users and the Python of the image are this machine's own here.
        if not command.startswith(("useradd", "python -m pip uninstall")):
            subprocess.run(
                ["sh", "-ec", self.placed(command)],
                env=self.environment,
                cwd=self.folder,
                check=True,
            )

    def inside(self, program: str, *given: str) -> list[str]:
        """Return a command of the image, wherever it lies here."""
        return [shutil.which(program, path=self.environment["PATH"]) or program, *given]

    def call(self, *command: str) -> None:
        print("$", *command, flush=True)
        subprocess.run(self.inside(*command), env=self.environment, cwd=self.workdir, check=True)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The container's running command, on loopback; its address. SIGTERM must end it well."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        ours = {"PAYMENTS_EMULATOR_HOST": "127.0.0.1", "PAYMENTS_EMULATOR_PORT": port}
        with subprocess.Popen(
            self.inside(*self.start),
            env={**self.environment, **ours},
            cwd=self.workdir,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdout
            assert any(line == "Ready.\n" for line in server.stdout), "it does not become ready"
            # The health check of a container has its variables; this one's port is not the image's.
            self.environment["PAYMENTS_EMULATOR_PORT"] = port
            yield f"http://127.0.0.1:{port}"
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0, f"it ends with {server.returncode}"


def copy_checkout(source: Path, target: Path) -> None:
    """Copy what git knows of a checkout, or all of a folder that is none."""
    if not (source / ".git").exists():
        shutil.copytree(source, target, dirs_exist_ok=True)
        return
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target / name)


def packed(folder: Path) -> int:
    """Return how many bytes a layer with this folder has in a registry."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as layer:
            layer.add(folder)
        return file.tell()


def main(source: Path = ROOT) -> str:
    """Play all of it; what was done. Raises what goes wrong."""
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Path(folder), source)
        for word, rest in instructions((source / "Dockerfile").read_text("utf-8")):
            play.take(word, rest)
        # Nothing but what was installed may be used from here on.
        shutil.rmtree(play.placed("/source"))
        shutil.rmtree(play.placed("/wheels"))
        size = packed(Path(play.placed("/opt/emulator")))
        assert size + BASE <= MOST, f"{size} bytes of it as pulled are too many"
        with play.serving() as url:
            play.call(*play.health)
            for path in (
                "/docs/",
                "/docs/guide/",
                "/docs/guide/renewals/",
                "/openapi.json",
                "/_emulator/openapi.json",
            ):
                with urllib.request.urlopen(url + path) as response:
                    print(response.status, path, flush=True)
        play.call("payments-emulator", "demo")
        play.call("python", "-W", "error", "-c", "import emulator")
        assert not list(
            Path(play.placed("/opt/emulator")).glob("lib/python3*/site-packages/pip")
        ), "pip is inside"
        play.call("python", "-c", "import psycopg")
        python = play.placed("/opt/emulator/bin/python")
        subprocess.run(
            [play.python, "-m", "pip", "--python", python, "install", "--quiet", "pytest"],
            check=True,
        )
        (play.workdir / "test_plugin.py").write_text(PLUGIN_TEST, "utf-8")
        play.call("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    return (
        f"serve, health, demo, fixture; with its base image {(size + BASE) / 1e6:.0f} MB as pulled"
    )


if __name__ == "__main__":
    print(main())
