"""Files that a command writes: checked before its work begins, and reported on one line if they cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click


class OutputFile(click.Path):
    """A file to be written, in a folder that exists. A long run whose report has no place does not begin."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Fails for a folder that does not exist or that may not be written to."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"{path}: cannot be written: there is no folder {path.parent}", param, ctx)
        if not path.exists() and not os.access(path.parent, os.W_OK):
            self.fail(f"{path}: cannot be written: no files may be made in {path.parent}", param, ctx)
        return path


OUTPUT_FILE = OutputFile()


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Report a file that cannot be written on one line, exit status 2."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from None


def write_text(file: Path, text: str) -> None:
    """Write a file. Raises ``ClickException``."""
    with explained(file):
        file.write_text(text, "utf-8")
