"""Pages are true: typed lines have the shown results, tables are the code's, pictures exist."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from contract_tests.quality.docs import response_types
from contract_tests.quality.docs.pages import GUIDE, PAGES, ROOT, Sample, name, samples
from contract_tests.quality.docs.tables import TABLES, filled
from contract_tests.support.sandbox import RunningServer
from docs import recording
from docs.libraries import libraries
from emulator.engine.fixtures import Fixtures

HOME = "http://127.0.0.1:4747"
"""Where the pages say that the emulator is."""

DATA = {"json": json.loads, "yaml": yaml.safe_load}
"""Languages that say nothing to do; that they can be read is all there is to try."""

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

MARK = "-- end of sample --"

ALL = [sample for page in PAGES for sample in samples(page)]

README = ROOT / "README.md"


@pytest.fixture
def server() -> Iterator[RunningServer]:
    """One of its own for each page: they all speak of the App ``demo``."""
    server = RunningServer()
    yield server
    server.stop()


def place(sample: Sample) -> str:
    return f"{name(sample.page)}:{sample.line}"


def pattern(response: str) -> re.Pattern[str]:
    """A text as a pattern: ``…`` is anything within a line, and a line of it any lines."""
    text = re.escape(response.strip()).replace("\\\n…\\\n", "\n(?s:.*)\n").replace("…", "[^\n]*")
    return re.compile(text)


def scripts(page: Path) -> list[Sample]:
    return [
        sample
        for sample in samples(page)
        if sample.language == "sh" and not sample.reason and not _serves(sample)
    ]


def _serves(sample: Sample) -> bool:
    return sample.text.lstrip().startswith("payments-emulator serve")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page == README else pytest.mark.long)
        for page in PAGES
        if scripts(page)
    ],
    ids=name,
)
def test_what_is_typed_gives_what_is_said(
    page: Path, server: RunningServer, tmp_path: Path
) -> None:
    """All samples of a page in one shell, as a reader would go through them."""
    typed = scripts(page)
    lines = "".join(f"{sample.text}\necho '{MARK}'\n" for sample in typed).replace(HOME, server.url)
    variables = {"NO_COLOR": "1", "COLUMNS": "120", "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail"],
        input=lines,
        cwd=tmp_path,
        env={"PATH": PATH, "HOME": str(tmp_path), "PAYMENTS_EMULATOR_URL": server.url, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    printed = done.stdout.replace(server.url, HOME).split(f"{MARK}\n")
    for sample, output in zip(typed, printed, strict=False):
        if sample.response:
            assert pattern(sample.response).search(output), f"{place(sample)} gives\n{output}"
    assert len(printed) > len(typed), f"{place(typed[len(printed) - 1])} fails:\n{printed[-1]}"
    assert done.returncode == 0


@pytest.mark.parametrize(
    "sample", [sample for sample in ALL if sample.language in DATA and not sample.reason], ids=place
)
def test_data_can_be_read(sample: Sample, tmp_path: Path) -> None:
    """Such of the emulator's own fixtures as the emulator reads them."""
    assert DATA[sample.language](sample.text) is not None
    if sample.text.startswith("# fixtures"):
        (tmp_path / "fixtures.yaml").write_text(sample.text, "utf-8")
        Fixtures((tmp_path / "fixtures.yaml",))


@pytest.mark.long
@pytest.mark.parametrize(
    "sample", [sample for sample in ALL if _serves(sample) and not sample.reason], ids=place
)
def test_what_starts_the_emulator_does(sample: Sample, tmp_path: Path) -> None:
    """Each line until it says so, on another port."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    for line in filter(None, sample.text.replace("\\\n", " ").splitlines()):
        command = [*line.partition("#")[0].split(), "--port", "0"]
        command[0] = shutil.which(command[0], path=PATH) or command[0]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as serving:
            assert serving.stdout is not None
            lines = []
            for output in serving.stdout:
                lines.append(output)
                if output == "Ready.\n":
                    break
            serving.terminate()
        assert lines[-1:] == ["Ready.\n"], f"{place(sample)}: {line}\n{''.join(lines)}"


def test_every_sample_is_tried() -> None:
    """In some way, or it says why not."""
    tried = {"sh", "python", "js", "diff", *DATA}  # a diff is part of a recipe: test_recipes
    assert [
        place(sample) for sample in ALL if sample.language not in tried and not sample.reason
    ] == []


def test_a_new_user_has_a_path_of_five_pages() -> None:
    """The first page names them in order, they lead on to each other, and all have run samples."""
    path = ["install", "quickstart", "first-test", "examinations", "going-live"]
    first = (GUIDE / "index.md").read_text("utf-8").partition("## New here")[2].partition("##")[0]
    assert re.findall(r"\((\w[\w-]*)\.md\)", first) == path
    for page, following in pairwise(path):
        assert (
            f"({following}.md)"
            in (GUIDE / f"{page}.md").read_text("utf-8").partition("Next: ")[2].splitlines()[0]
        )
    assert [
        page for page in path if all(sample.reason for sample in samples(GUIDE / f"{page}.md"))
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_tables_are_up_to_date(page: Path) -> None:
    """Else: python -m contract_tests.quality.docs.tables"""
    text = page.read_text("utf-8")
    assert filled(text) == text


def test_each_table_is_on_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [table for table in TABLES if f"<!-- begin: {table} -->" not in text] == []


def test_the_types_of_the_responses_are_those_of_the_documents() -> None:
    """Else: python -m contract_tests.quality.docs.response_types"""
    *stubs, (node, text) = response_types.files()
    for python, types in stubs:
        assert ast.dump(ast.parse(python.read_text("utf-8"))) == ast.dump(ast.parse(types)), (
            "but for its format"
        )
    assert node.read_text("utf-8") == text


def test_the_licence_of_each_package_is_named() -> None:
    """Of those a plain installation brings along, whole or in part, and of no others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    copied = {library.distribution for library in libraries([])}
    needed = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]} | copied
    named = re.findall(
        r"^\| ([\w-]+) \|", (ROOT / "docs/contributing/licences.md").read_text("utf-8"), re.M
    )
    assert sorted(named) == sorted(needed | {"package"})


# -- pictures, which python -m docs.screenshots and python -m docs.recording make


PICTURES = {file.name: file.stat().st_size for file in (ROOT / "docs" / "images").iterdir()}
"""The size of each in bytes."""


def test_pictures_are_small() -> None:
    assert [file for file, size in PICTURES.items() if size > 80_000] == []


def test_pictures_are_those_that_pages_show() -> None:
    shown_images = {
        name for page in PAGES for name in re.findall(r'images/([\w.-]+)"', page.read_text("utf-8"))
    }
    assert 10 <= len(shown_images & PICTURES.keys()) == len(shown_images)


def test_the_recording_shows_what_the_commands_print() -> None:
    """And it needs nothing from elsewhere."""
    picture = recording.FILE.read_text("utf-8")
    assert picture == recording.recorded(), "python -m docs.recording makes it again"
    assert re.findall(r"https?://[^\"<]+", picture) == ["http://www.w3.org/2000/svg"]
    last = max(
        float(percent)
        for percent in re.findall(r"@keyframes l\d+\{0%\{opacity:0\}([\d.]+)%", picture)
    )
    assert last / 100 * recording.SECONDS <= 2, "all of it is seen from the second second on"
