"""How the package for Node comes to an emulator: the command on the path, an installation of its own, or the image."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from contract_tests.surfaces.node.__main__ import EXAMPLES

pytestmark = pytest.mark.needs("node")

PACKAGE = EXAMPLES / "payments-emulator"
IMAGE = json.loads((PACKAGE / "package.json").read_text("utf-8"))["config"]["image"]

SAYS = '#!/bin/sh\necho "$(basename "$0") $@"\n'
PYTHON = """#!/bin/sh
# Python 3.11, whose environments are folders with this same program.
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip install "*) echo "installs $*" >&2 ;;
    "-c "*) ;;
    *) echo "python $@" ;;
esac
"""


def npx(tmp_path: Path, *given: str, programs: dict[str, str], **variables: str) -> subprocess.CompletedProcess[str]:
    """``npx payments-emulator`` on a machine that has these programs alone, besides a shell and Node."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name, script in programs.items():
        (folder / name).write_text(script, "utf-8")
        (folder / name).chmod(0o755)
    for name in ("node", "sh", "basename", "mkdir", "cp"):
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(str(shutil.which(name))).resolve())
    own = {"PATH": str(folder), "HOME": str(tmp_path), "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    return subprocess.run(
        ["node", PACKAGE / "bin.cjs", *given], env={**own, **variables}, capture_output=True, text=True, check=False
    )


def test_the_command_on_the_path_is_taken(tmp_path: Path) -> None:
    done = npx(tmp_path, "serve", programs={"payments-emulator": SAYS, "docker": SAYS, "python3": PYTHON})
    assert (done.returncode, done.stdout, done.stderr) == (0, "payments-emulator serve\n", "")


def test_its_exit_status_is_passed_on(tmp_path: Path) -> None:
    assert npx(tmp_path, programs={"payments-emulator": "#!/bin/sh\nexit 3\n"}).returncode == 3


def test_where_python_is_a_release_is_installed_once(tmp_path: Path) -> None:
    wanted = {"PAYMENTS_EMULATOR_PACKAGE": "payments-emulator==1.2.3"}
    first = npx(tmp_path, "serve", programs={"python3": PYTHON, "docker": SAYS}, **wanted)
    assert "installs -m pip install --quiet --disable-pip-version-check payments-emulator==1.2.3" in first.stderr
    assert (first.returncode, first.stdout) == (0, "python -m emulator.cli.main serve\n")
    second = npx(tmp_path, "demo", programs={}, **wanted)
    assert (second.returncode, second.stdout, second.stderr) == (0, "python -m emulator.cli.main demo\n", "")


@pytest.mark.parametrize("programs", [{}, {"python3": "#!/bin/sh\nexit 1\n"}], ids=["no Python", "an old Python"])
def test_without_python_the_image_runs(tmp_path: Path, programs: dict[str, str]) -> None:
    done = npx(tmp_path, "serve", programs={**programs, "docker": SAYS}, PAYMENTS_EMULATOR_PACKAGE="payments-emulator")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"docker run --rm --init --publish 127.0.0.1:4747:4747 {IMAGE} serve\n"


def test_without_python_and_docker_it_says_what_it_needs(tmp_path: Path) -> None:
    done = npx(tmp_path, "serve", programs={})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "payments-emulator: needs Python 3.11 or newer, with pip and venv, or Docker\n"
