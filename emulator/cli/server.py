"""Servers that commands start: in a thread, or in a process of their own."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.optional_modules import left_out
from emulator.cli.options import writing
from emulator.document.paths import GUIDE

if TYPE_CHECKING:
    from emulator.document.profile import Profile
    from emulator.server.server import Server


def introduce(url: str, keys: str, profile: Profile | None) -> None:
    key = "sk_test_demo" if keys == "open" else "KEY, one of the keys listed in the fixtures"
    click.echo(f"The service     {url}/v1/   (Authorization: Bearer {key})")
    click.echo(f"Web console     {url}/_emulator/")
    click.echo(f"API reference   {url}/docs/   (the document: {url}/openapi.json)")
    if GUIDE.is_dir():  # a checkout has it once it is built
        click.echo(f"Guide           {url}/docs/guide/")
    if profile is not None:
        click.echo(f"The profile     {profile.sentence()}")


def forget_port(port_file: Path | None) -> None:
    """Delete the port file: a program must not find the port of an earlier server there."""
    if port_file:
        with writing(port_file):
            port_file.unlink(missing_ok=True)


def write_port(port: int, port_file: Path | None) -> None:
    if port_file:
        with writing(port_file):
            # Renamed into place, so that no program reads it half written.
            part = port_file.with_name(f"{port_file.name}.part")
            part.write_text(f"{port}\n")
            part.replace(port_file)


@contextmanager
def start_errors() -> Iterator[None]:
    """Report on one line why a server does not start, or a store cannot be read."""
    from emulator.engine.fixtures import InvalidFixture
    from emulator.engine.storage.store import CorruptStore, StorageError
    from emulator.server.address import CannotListen

    try:
        yield
    except CannotListen as error:
        hint = (
            "; is an emulator running there already? Choose another port with --port; 0 picks a"
            " free one"
        )
        raise click.ClickException(f"{error}{hint if error.in_use else ''}") from None
    except StorageError as error:
        raise click.ClickException(error.why) from None
    except (CorruptStore, InvalidFixture) as error:
        raise click.ClickException(str(error)) from None


def public_url(chosen: Mapping[str, Any]) -> str | None:
    url: str | None = chosen.get("public_url")
    if url is not None and not re.fullmatch(r"https?://[^/\s]+/?", url):
        raise click.BadParameter(
            f"{url!r} is not a URL such as http://sandbox.local:4747", param_hint="'--public-url'"
        )
    return url and url.rstrip("/")


@contextmanager
def own_sandbox(**options: Any) -> Iterator[str]:
    """Run a sandbox in this process in the block; yield its URL. Raises ``ClickException``."""
    with left_out():
        from emulator.server.sandbox import Options
        from emulator.server.server import Server
        from emulator.server.thread import DidNotStart, ServerThread

    server = Server(Options(**options), "127.0.0.1", 0)
    try:
        thread = ServerThread(server)
    except DidNotStart as error:
        raise click.ClickException(str(error)) from None
    try:
        yield server.url
    finally:
        thread.stop()


def stop_with_stdin(server: Server) -> None:
    """Stop the server once the standard input ends.

    However a program ends, the system closes its end of its pipes, so a server never outlives its
    parent.
    """
    # Its descriptor, not sys.stdin: a thread that waits in that at the end of the process holds a
    # lock that Python needs.
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    server.stop()


def tune_garbage_collector() -> None:
    """Exclude the start's objects from garbage collection; collect rarely: worlds live long.

    The collector is off until then, because a start creates no garbage. Each object is looked at
    twice, however often that happens; so each look is at few objects, which takes some milliseconds
    at most.
    """
    gc.freeze()
    gc.set_threshold(5_000, 5, 40_000)
    gc.enable()
