"""The Markdown pages people read, cut into the samples they are to type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from contract_tests import ROOT

GUIDE = ROOT / "docs" / "guide"

CONTRIBUTING = ROOT / "docs" / "contributing"
"""What those who work on the emulator read; it is neither served nor in the wheel."""

SKILL = ROOT / "docs" / "skill.md"
"""What ``agent setup`` writes for AI assistants."""

PAGES = sorted([ROOT / "README.md", *GUIDE.glob("*.md"), *CONTRIBUTING.glob("*.md"), SKILL])
"""The pages whose samples are run."""

_RELEASED = re.compile(r"<!-- released\n.*?-->\n", re.S)
_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.S | re.M,
)


class Sample(NamedTuple):
    """A block of code; ``reason`` says why not to run it, ``answer`` is the result on the page."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None
    response: str | None = None


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def samples(page: Path) -> Iterator[Sample]:
    """Yield a page's samples in order. A block of ``text`` right after another is its result."""
    # What a release says instead, once there are packages, is tried by the rehearsal of a release.
    # Lines keep their numbers.
    text = _RELEASED.sub(lambda match: "\n" * match[0].count("\n"), page.read_text("utf-8"))
    blocks = list(_BLOCK.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block["language"] == "text":
            continue
        responses = (
            following
            and following["language"] == "text"
            and text[block.end() : following.start()].isspace()
        )
        yield Sample(
            page,
            text.count("\n", 0, block.start()) + 1,
            block["language"],
            block["text"],
            block["reason"],
            following["text"] if following and responses else None,
        )
