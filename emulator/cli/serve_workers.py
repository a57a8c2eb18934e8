"""``serve --workers``: one address, several processes."""

from __future__ import annotations

import gc
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from emulator.cli.exit_status import WRONG_USAGE
from emulator.cli.request_lines import RequestLines
from emulator.cli.serve import explained, introduce, make_options, public_url, start_errors, write_port
from emulator.cli.server_process import tune_garbage_collector
from emulator.engine.share import Share
from emulator.sandbox import Options
from emulator.server import bind, url_of
from emulator.state.lock import lock_file
from emulator.state.urls import MEMORY, file_of
from emulator.workers.front import Failed, Front, Start, WorkerProcess
from emulator.workers.worker import Worker

NAMES_SHOWN = 5
"""How many worlds are named that a worker took with it."""


def serve_with_workers(
    workers: int, chosen: dict[str, Any], make_lines: Callable[[], RequestLines | None], *, exit_with_stdin: bool
) -> None:
    """Serve until Ctrl-C or SIGTERM, as ``serve`` does."""
    if not hasattr(socket, "send_fds"):
        raise click.UsageError("--workers needs a system that can pass connections between processes: Linux or macOS")
    if chosen["state"].startswith("tinydb:"):
        raise click.UsageError("--workers: a TinyDB file belongs to one process; use sqlite:///FILE")
    options = make_options(chosen)
    address = public_url(chosen["public_url"])
    port_file: Path | None = chosen["port_file"]
    if port_file:
        with explained(port_file):
            port_file.unlink(missing_ok=True)
    with start_errors(), closing(bind(chosen["host"], chosen["port"])) as listening:
        port: int = listening.getsockname()[1]
        options = _shared(options, workers, address or url_of(chosen["host"], port, options))
        file = file_of(chosen["state"])
        # The workers use the file together; no other server may.
        lock = lock_file(file) if file else None
        introduce(options.base_url, chosen["keys"])
        gc.freeze()
        with tempfile.TemporaryDirectory(prefix="payments-emulator-") as folder:
            run = partial(_run_worker, options, Path(folder), make_lines)
            front = Front(listening, workers, run, partial(_report, options.state), watch_stdin=exit_with_stdin)
            sys.exit(_serve(front, lambda: _announce(port, port_file)))
        del lock


def _serve(front: Front, ready: Callable[[], None]) -> int:
    status = 0
    try:
        front.start()
        ready()
        front.serve()
    except (KeyboardInterrupt, SystemExit):
        pass
    except Failed as failure:
        status = failure.status
    return status or front.stop()


def _announce(port: int, port_file: Path | None) -> None:
    write_port(port, port_file)
    click.echo("Ready.")


def _shared(options: Options, workers: int, url: str) -> Options:
    """The options that all workers have: one seed, and each its part of the worlds that may be open."""
    seed = secrets.randbits(63) if options.seed is None else options.seed
    most = -(-options.max_worlds // workers)
    return replace(options, seed=seed, base_url=url, max_worlds=most, share=Share(0, workers))


def _run_worker(options: Options, folder: Path, make_lines: Callable[[], RequestLines | None], start: Start) -> None:
    """Be a worker, in a process of its own, until the front ends it."""
    lines = make_lines()
    share = options.share._replace(worker=start.worker)
    try:
        with start_errors():
            worker = Worker(replace(options, share=share, report=lines.report if lines else None), folder, start.end)
    except click.ClickException as error:
        # As the command line reports it, which is in another process.
        click.echo(f"payments-emulator: {' '.join(error.format_message().split())}", err=True)
        sys.exit(WRONG_USAGE)
    tune_garbage_collector()
    try:
        worker.run()
    finally:
        if lines:
            lines.close()
        gc.disable()
        gc.freeze()
        if worker.sandbox.store and (loss := worker.sandbox.store.unsaved()) is not None:
            click.echo(f"payments-emulator: {loss}", err=True)
            sys.exit(1)


def _report(state: str, worker: WorkerProcess) -> None:
    """Say that a worker was replaced, and which worlds went with it."""
    text = f"Worker {worker.number} ended (exit status {worker.process.exitcode}) and was replaced."
    names = sorted(worker.worlds)
    if state == MEMORY and names:
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        text += f" Its worlds in memory are lost: {', '.join(names[:NAMES_SHOWN])}{more}."
    click.echo(f"payments-emulator: {text}", err=True)
