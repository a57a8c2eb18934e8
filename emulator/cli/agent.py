"""``agent``: writes what an AI assistant should know of the emulator into a project."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli.groups import LazyGroup
from emulator.document.paths import SKILL

BEGIN, END = "<!-- begin: payments-emulator -->", "<!-- end: payments-emulator -->"
"""The text between these lines is the emulator's; everything else in a file stays as it is."""

FRONT = (
    "---\nname: payments-emulator\n"
    "description: Test payments, subscriptions, refunds and webhooks against a local sandbox"
    " with a clock that can be moved.\n---\n"
)

POINTER = """## Payments

Payments, subscriptions, refunds and webhooks are tested against payments-emulator, a local sandbox.
Read {skill} before you change such code.
"""


@click.group(cls=LazyGroup)
def agent() -> None:
    """Prepare a project for AI assistants.

    \b
    payments-emulator agent setup
    """


@agent.command()
@click.option(
    "--skills",
    type=click.Path(path_type=Path),
    default=Path(".agents", "skills"),
    show_default=True,
    metavar="FOLDER",
    help="Folder of skills within the project, where your assistant looks for them.",
)
def setup(skills: Path) -> None:
    """Write a skill, and a section of AGENTS.md that points to it.

    \b
    payments-emulator agent setup
    payments-emulator agent setup --skills docs/skills

    They go into this folder. Run it again after an update: only what stands between its own marks
    is replaced.
    """
    skill = skills / "payments-emulator" / "SKILL.md"
    text = SKILL.read_text("utf-8")
    for path, front, block in (
        (skill, FRONT, text),
        (Path("AGENTS.md"), "", POINTER.format(skill=skill.as_posix())),
    ):
        _write(path, front, block)
        click.echo(f"wrote {path.as_posix()}")


def _write(file: Path, front: str, block: str) -> None:
    """Put the block between a file's marks, ``front`` in a new file. Raises ``ClickException``."""
    try:
        before = file.read_text("utf-8") if file.exists() else front
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(with_block(before, block), "utf-8")
    except (OSError, UnicodeError) as error:
        raise click.ClickException(f"{file}: {error}") from None


def with_block(text: str, block: str) -> str:
    """Return the text with the block between its marks, which are added at the end if missing."""
    marked = f"{BEGIN}\n{block.rstrip()}\n{END}"
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        return f"{before}{marked}{after}"
    return f"{text.rstrip()}\n\n{marked}\n" if text.strip() else f"{marked}\n"
