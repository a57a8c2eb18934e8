"""What every start of a server shares: what it prints, its port file, and what keeps it from starting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.output_files import explained
from emulator.document.paths import guide_folder

if TYPE_CHECKING:
    from emulator.document.profile import Profile


def introduce(url: str, keys: str, profile: Profile | None) -> None:
    """Print the addresses of a server at a URL. ``keys`` and ``profile`` are options."""
    key = "sk_test_demo" if keys == "open" else "KEY, one of the keys listed in the fixtures"
    click.echo(f"The service     {url}/v1/   (Authorization: Bearer {key})")
    click.echo(f"Web console     {url}/_emulator/")
    click.echo(f"API reference   {url}/docs/   (the document: {url}/openapi.json)")
    if guide_folder().is_dir():  # a checkout has it once it is built
        click.echo(f"Guide           {url}/docs/guide/")
    if profile is not None:
        click.echo(f"The profile     {profile.sentence()}")


def forget_port(port_file: Path | None) -> None:
    """Delete the port file: a program that waits for it must not find the port of an earlier server."""
    if port_file:
        with explained(port_file):
            port_file.unlink(missing_ok=True)


def write_port(port: int, port_file: Path | None) -> None:
    """Write the port of a server that answers requests to a file, if one is asked for."""
    if port_file:
        with explained(port_file):
            # Renamed into place, so that no program reads it half written.
            part = port_file.with_name(f"{port_file.name}.part")
            part.write_text(f"{port}\n")
            part.replace(port_file)


@contextmanager
def start_errors() -> Iterator[None]:
    """Raise ``ClickException`` for what keeps a server from starting."""
    # Imported here, as above.
    from emulator.engine.fixtures import InvalidFixture
    from emulator.engine.reference_data import InvalidDatabase
    from emulator.engine.storage.store import CorruptStore, StorageError
    from emulator.server.server import CannotListen

    try:
        yield
    except CannotListen as error:
        hint = "; is an emulator running there already? Choose another port with --port; 0 picks a free one"
        raise click.ClickException(f"{error}{hint if error.in_use else ''}") from None
    except (InvalidFixture, CorruptStore, InvalidDatabase) as error:
        raise click.ClickException(str(error)) from None
    except StorageError as error:
        raise click.ClickException(error.why) from None


def public_url(url: str | None) -> str | None:
    """The option, checked."""
    if url is not None and not re.fullmatch(r"https?://[^/\s]+/?", url):
        raise click.BadParameter(f"{url!r}: a URL such as http://sandbox.local:4747", param_hint="'--public-url'")
    return url and url.rstrip("/")
