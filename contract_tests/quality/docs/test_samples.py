"""The commands on the pages are typed in order, page by page, and give what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from contract_tests.quality.docs.pages import PAGES, ROOT, Sample, name, samples
from contract_tests.support.sandbox import RunningServer
from emulator.engine.fixtures import Fixtures

HOME = "http://127.0.0.1:4747"
"""Where the pages say that the emulator is."""

DATA = {"json": json.loads, "yaml": yaml.safe_load}
"""Languages that say nothing to do; that they can be read is all there is to try."""

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

MARK = "-- end of sample --"

ALL = [sample for page in PAGES for sample in samples(page)]


@pytest.fixture
def server() -> Iterator[RunningServer]:
    """One of its own for each page: they all speak of the App ``demo``."""
    server = RunningServer()
    yield server
    server.stop()


def place(sample: Sample) -> str:
    return f"{name(sample.page)}:{sample.line}"


def pattern(answer: str) -> re.Pattern[str]:
    """What is said, where ``…`` stands for anything within a line and a line of it for any lines."""
    text = re.escape(answer.strip()).replace("\\\n…\\\n", "\n(?s:.*)\n").replace("…", "[^\n]*")
    return re.compile(text)


def scripts(page: Path) -> list[Sample]:
    return [each for each in samples(page) if each.language == "sh" and not each.reason and not _serves(each)]


def _serves(sample: Sample) -> bool:
    return sample.text.lstrip().startswith("payments-emulator serve")


README = ROOT / "README.md"


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page == README else pytest.mark.long) for page in PAGES if scripts(page)],
    ids=name,
)
def test_what_is_typed_gives_what_is_said(page: Path, server: RunningServer, tmp_path: Path) -> None:
    """All samples of a page in one shell, as a reader would go through them."""
    typed = scripts(page)
    lines = "".join(f"{sample.text}\necho '{MARK}'\n" for sample in typed).replace(HOME, server.url)
    environment = {
        "PATH": PATH,
        "HOME": str(tmp_path),
        "PAYMENTS_EMULATOR_URL": server.url,
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail"],
        input=lines,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    printed = done.stdout.replace(server.url, HOME).split(f"{MARK}\n")
    for sample, output in zip(typed, printed, strict=False):
        if sample.answer:
            assert pattern(sample.answer).search(output), f"{place(sample)} gives\n{output}"
    assert len(printed) > len(typed), f"{place(typed[len(printed) - 1])} fails:\n{printed[-1]}"
    assert done.returncode == 0


@pytest.mark.parametrize("sample", [each for each in ALL if each.language in DATA and not each.reason], ids=place)
def test_data_can_be_read(sample: Sample, tmp_path: Path) -> None:
    """Such of the emulator's own fixtures as the emulator reads them."""
    read = DATA[sample.language](sample.text)
    if sample.text.startswith("# fixtures"):
        (tmp_path / "fixtures.yaml").write_text(sample.text, "utf-8")
        Fixtures((tmp_path / "fixtures.yaml",))
    assert read is not None


@pytest.mark.long
@pytest.mark.parametrize("sample", [each for each in ALL if _serves(each) and not each.reason], ids=place)
def test_what_starts_the_emulator_does(sample: Sample, tmp_path: Path) -> None:
    """Each line until it says so, on another port."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    for line in filter(None, sample.text.replace("\\\n", " ").splitlines()):
        command = [*line.partition("#")[0].split(), "--port", "0"]
        command[0] = shutil.which(command[0], path=PATH) or command[0]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as serving:
            assert serving.stdout is not None
            said = []
            for each in serving.stdout:
                said.append(each)
                if each == "Ready.\n":
                    break
            serving.terminate()
        assert said[-1:] == ["Ready.\n"], f"{place(sample)}: {line}\n{''.join(said)}"


def test_every_sample_is_tried() -> None:
    """In some way, or it says why not."""
    tried = {"sh", "python", "js", "diff", *DATA}  # a diff is part of a recipe: test_recipes
    assert [place(each) for each in ALL if each.language not in tried and not each.reason] == []
