"""``serve``: run the sandbox as a server."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.optional_modules import left_out
from emulator.cli.options import (
    ASSUMPTION,
    CLOCK_START,
    DEFAULT_PORT,
    FILE,
    PORT,
    PROFILE,
    SEED,
    STATE_URL,
    Integer,
    option,
    with_options,
)
from emulator.cli.request_lines import RequestLines
from emulator.cli.server import (
    forget_port,
    introduce,
    public_url,
    start_errors,
    stop_with_stdin,
    tune_garbage_collector,
    write_port,
)
from emulator.core.limits import WORLDS
from emulator.server.address import bind, is_loopback, url_of
from emulator.server.open_files import allow_open_files

if TYPE_CHECKING:
    import socket

    from emulator.server.server import Server
    from emulator.server.thread import ServerThread

LOOPBACK = "127.0.0.1"

OPTIONS = (
    option("--host", default=LOOPBACK, metavar="ADDRESS", help="Address to listen on."),
    option("--port", type=PORT, default=DEFAULT_PORT, help="Port; 0 picks a free one."),
    option("--port-file", type=FILE, help="Write the port to this file when ready."),
    option("--public-url", metavar="URL", help="URL of the server in the links of objects."),
    option(
        "--clock",
        type=CLOCK_START,
        metavar=CLOCK_START.name,
        default="running",
        help="Initial state of clocks.",
    ),
    option("--seed", type=SEED, help="Same seed, same output (with a frozen clock)."),
    option(
        "--keys",
        type=click.Choice(["open", "listed"]),
        default="open",
        help="Accept any key, or listed ones.",
    ),
    option(
        "--fixtures",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE|FOLDER",
        help="Settings and keys, or snapshots. May be repeated.",
    ),
    option(
        "--assume",
        "chosen_assumptions",
        type=ASSUMPTION,
        multiple=True,
        help="Set an assumption (/docs/assumptions). May be repeated.",
    ),
    option("--profile", type=PROFILE, help="Use the profile written by 'compare service --out'."),
    option("--state", type=STATE_URL, default="memory", help="Where to persist worlds."),
    option(
        "--max-worlds",
        type=Integer(1),
        default=WORLDS.most,
        metavar="N",
        help="Worlds open at a time.",
    ),
    option(
        "--allow-host",
        "allow_hosts",
        multiple=True,
        metavar="NAME",
        help="A further host name. May be repeated.",
    ),
    option("--control-token", metavar="TOKEN", help="Token that the control API requires."),
    option("--insecure", is_flag=True, help="Listen beyond loopback without a token."),
    option(
        "--trust-network", is_flag=True, default=False, help="Allow any host and HTTP webhooks."
    ),
    option("--strict/--no-strict", default=False, help="Check each response against the document."),
)
"""The options of a sandbox, in the order of the help."""


@click.command()
@with_options(OPTIONS)
@option("--quiet", "-q", is_flag=True, default=False, help="Print no line for each request.")
@option("--exit-with-stdin", is_flag=True, default=False, help="End when the standard input ends.")
def serve(*, quiet: bool, exit_with_stdin: bool, **chosen: Any) -> None:
    """Start the sandbox and serve until Ctrl-C or SIGTERM.

    \b
    payments-emulator serve
    payments-emulator serve --port 0 --port-file port.txt
    payments-emulator serve --clock frozen@2026-01-01T00:00:00Z --seed 7

    Every option can be an environment variable: --port is PAYMENTS_EMULATOR_PORT. Guide:
    /docs/guide/command-line/
    """
    gc.disable()
    allow_open_files()
    # uvicorn stops on SIGTERM and then raises it again. Ending on request is a success at any
    # moment.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    lines = None if quiet else RequestLines()
    port_file: Path | None = chosen["port_file"]
    server = make_server(chosen, report=lines and lines.report)

    def announce() -> None:
        write_port(server.port, port_file)
        tune_garbage_collector()
        if exit_with_stdin:
            threading.Thread(target=stop_with_stdin, args=[server], daemon=True).start()
        click.echo("Ready.")

    forget_port(port_file)
    introduce(server.url, chosen["keys"], chosen["profile"])
    try:
        server.run(announce)
    finally:
        if lines:
            lines.close()
        # The system takes back the memory of tens of thousands of worlds at once; Python would look
        # at each object.
        gc.disable()
        gc.freeze()
        if (loss := server.unsaved()) is not None:
            click.echo(f"payments-emulator: {loss}", err=True)
            sys.exit(1)


def make_server(
    chosen: Mapping[str, Any], listening: socket.socket | None = None, **more: Any
) -> Server:
    """Return the server for a command line's options and ``more`` ones. Raises ``ClickException``.

    Options that a command does not have are those of a server for this machine alone, on any port.
    """
    with left_out():
        from emulator.server.sandbox import Options
        from emulator.server.server import Server

    host = _permitted_host(chosen)
    mode, at = chosen["clock"]
    same = {
        *("seed", "fixtures", "profile", "strict", "allow_hosts", "control_token", "trust_network"),
        *("state", "max_worlds"),
    }
    options = Options(
        clock_mode=mode,
        clock_at=at,
        listed_keys_only=chosen["keys"] == "listed",
        assumptions=dict(chosen["chosen_assumptions"]),
        any_host=not is_loopback(host),
        **{name: value for name, value in chosen.items() if name in same},
        **more,
    )
    with start_errors():
        return Server(options, host, chosen.get("port", 0), public_url(chosen), listening)


def _permitted_host(chosen: Mapping[str, Any]) -> str:
    """Return the address to listen on. Raises ``UsageError`` for a public one without a token."""
    host: str = chosen.get("host", LOOPBACK)
    permitted = chosen.get("control_token") or chosen.get("insecure") or chosen["trust_network"]
    if not permitted and not is_loopback(host):
        raise click.UsageError(
            f"--host {host}: others than this machine could use the control API; give a"
            " --control-token, or say --insecure"
        )
    return host


class StartingServer:
    """A server whose port is bound at once. ``start``, a context manager, runs it in a thread.

    Clients that connect meanwhile wait. If it cannot start, ``failed`` is called, and the end of
    the block raises ``ClickException``.
    """

    def __init__(
        self,
        chosen: Mapping[str, Any],
        failed: Callable[[], None],
        built: Callable[[Server], None],
        **more: Any,
    ) -> None:
        host = _permitted_host(chosen)
        with start_errors():
            self._listening = bind(host, chosen.get("port", 0))
        port = self._listening.getsockname()[1]
        self.url: str = public_url(chosen) or url_of(
            host, port, trust_network=chosen["trust_network"]
        )
        self._chosen = chosen
        self._failed = failed
        self._built = built
        self._more = more
        self._server: Server | None = None
        self._thread: ServerThread | None = None

    def start(self) -> None:
        from emulator.server.thread import ServerThread

        self._thread = ServerThread(self, self._failed)

    def run(self, ready: Callable[[], None]) -> None:
        try:
            self._server = make_server(self._chosen, self._listening, **self._more)
            self._built(self._server)
            self._server.run(ready)
        finally:
            self._listening.close()  # so that no client waits for what does not come

    def stop(self) -> None:
        if self._server:
            self._server.stop()

    def __enter__(self) -> StartingServer:
        return self

    def __exit__(self, *_: object) -> None:
        from emulator.server.thread import DidNotStart

        if self._thread is None:
            self._listening.close()
            return
        try:
            self._thread.wait()
        except DidNotStart as error:
            cause = error.__cause__
            raise (
                cause
                if isinstance(cause, click.ClickException)
                else click.ClickException(str(error))
            ) from None
        finally:
            self._thread.stop()
