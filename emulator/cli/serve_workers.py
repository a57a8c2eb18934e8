"""``serve --workers``: one address, several processes."""

from __future__ import annotations

import gc
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from emulator.cli.exit_status import WRONG_USAGE
from emulator.cli.request_lines import RequestLines
from emulator.cli.server_process import tune_garbage_collector
from emulator.cli.server_start import forget_port, start_errors, write_port
from emulator.engine.share import Share
from emulator.sandbox import Options
from emulator.server import bind, url_of
from emulator.state.lock import lock_file
from emulator.state.urls import MEMORY, file_of
from emulator.workers.front import Failed, Front, WorkerProcess, WorkerStart
from emulator.workers.worker import Worker

NAMES_SHOWN = 5
"""How many worlds are named that a worker took with it."""


class Listening(NamedTuple):
    """Where the server listens, how clients reach it if that differs, and the file that its port is written to."""

    host: str
    port: int
    public_url: str | None
    port_file: Path | None


def serve_with_workers(
    workers: int,
    options: Options,
    address: Listening,
    make_lines: Callable[[], RequestLines | None],
    *,
    introduced: Callable[[str], None],
    exit_with_stdin: bool,
) -> None:
    """Serve until Ctrl-C or SIGTERM, as ``serve`` does."""
    if not hasattr(socket, "send_fds"):
        raise click.UsageError("--workers needs a system that can pass connections between processes: Linux or macOS")
    if options.state.startswith("tinydb:"):
        raise click.UsageError("--workers: a TinyDB file belongs to one process; use sqlite:///FILE")
    forget_port(address.port_file)
    with start_errors(), closing(bind(address.host, address.port)) as listening, _locked(options.state):
        port: int = listening.getsockname()[1]
        options = _shared(options, workers, address.public_url or url_of(address.host, port, options))
        introduced(options.base_url)
        gc.freeze()
        with tempfile.TemporaryDirectory(prefix="payments-emulator-") as folder:
            run = partial(_run_worker, options, Path(folder), make_lines)
            front = Front(listening, workers, run, partial(_report, options.state), watch_stdin=exit_with_stdin)
            sys.exit(_serve(front, lambda: _announce(port, address.port_file)))


def _locked(state: str) -> AbstractContextManager[object]:
    """Hold the lock of a state file: the workers use the file together, and no other server may."""
    file = file_of(state)
    return lock_file(file) if file else nullcontext()


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


def _run_worker(
    options: Options, folder: Path, make_lines: Callable[[], RequestLines | None], start: WorkerStart
) -> None:
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
