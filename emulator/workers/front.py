"""The front process: accepts connections, passes each to the worker of its key, and replaces workers that end."""

from __future__ import annotations

import multiprocessing
import os
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing.context import ForkProcess
from typing import NamedTuple

from emulator.engine.share import Share
from emulator.limits import HEAD
from emulator.workers.channel import CLOSED, OPENED, READY, ConnectionSender
from emulator.workers.sharding import worker_of_head

FORK = multiprocessing.get_context("fork")
"""A worker shares the memory of everything that was imported before it started. The front has no threads."""

SILENCE = 2.0
"""Seconds after which a connection that sends nothing is given to a worker, which has its own limits for it."""

LOOK = 1.0
"""Seconds between two looks at silent connections."""

STDIN = 0

END_SECONDS = 10
"""How long workers have to end."""


class WorkerStart(NamedTuple):
    """What a worker starts with: its number and its end of the channel."""

    worker: int
    end: socket.socket


class WorkerProcess:
    """A worker as the front sees it. ``worlds`` are the keys of those that it has open."""

    def __init__(self, number: int, run: Callable[[WorkerStart], None], close: Iterable[socket.socket]) -> None:
        ours, theirs = socket.socketpair()
        self.number = number
        self.sender = ConnectionSender(ours)
        self.is_ready = False
        self.worlds: set[str] = set()

        def target() -> None:
            # Only then does a worker notice the end of the front: when no other worker has that end open.
            for each in (ours, *close):
                each.close()
            with suppress(KeyboardInterrupt):  # Ctrl-C is sent to all processes, and uvicorn has ended in good order
                run(WorkerStart(number, theirs))

        self.process: ForkProcess = FORK.Process(target=target, name=f"worker {number}")
        self.process.start()
        theirs.close()

    def listen(self) -> bool:
        """Read what the worker says. Returns whether it is still there."""
        lines = self.sender.lines()
        for line in lines or ():
            what, _, key = line.partition(" ")
            if what == READY:
                self.is_ready = True
            elif what == OPENED:
                self.worlds.add(key)
            elif what == CLOSED:
                self.worlds.discard(key)
        return lines is not None


class Failed(Exception):
    """A worker could not start and has said why; ``status`` is its exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Front:
    """Serves one address with several workers until a signal ends it.

    ``run`` is what a worker process does; ``lost`` is called with each worker that was replaced. With ``watch_stdin``
    the end of the standard input ends it.
    """

    def __init__(
        self,
        listening: socket.socket,
        workers: int,
        run: Callable[[WorkerStart], None],
        lost: Callable[[WorkerProcess], None],
        *,
        watch_stdin: bool = False,
    ) -> None:
        listening.setblocking(False)
        self._listening = listening
        self._share = Share(0, workers)
        self._run = run
        self._lost = lost
        self._workers: list[WorkerProcess] = []
        self._silent: dict[socket.socket, float] = {}
        self._watch_stdin = watch_stdin
        self._selector = selectors.DefaultSelector()

    def start(self) -> None:
        """Start the workers, the first one alone, which reports invalid options. Raises :class:`Failed`."""
        for number in range(self._share.workers):
            self._workers.append(self._started(number))
            if number == 0:
                self._await_ready()
        self._await_ready()
        self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
        if self._watch_stdin:
            self._selector.register(STDIN, selectors.EVENT_READ, self._read_stdin)

    def serve(self) -> None:
        """Pass connections on, until an exception of a signal handler."""
        while True:
            for key, _ in self._selector.select(LOOK):
                key.data()
            self._pass_silent_on()

    def stop(self) -> int:
        """End the workers, and wait for them. Returns the exit status: the first of theirs that is not 0."""
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + END_SECONDS
        for worker in self._workers:
            worker.process.join(max(0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        return next((code for each in self._workers if (code := each.process.exitcode)), 0)

    # -- workers

    def _started(self, number: int) -> WorkerProcess:
        worker = WorkerProcess(number, self._run, [each.sender.end for each in self._workers if each.number != number])
        self._selector.register(worker.sender.end, selectors.EVENT_READ, partial(self._serve_channel, worker))
        return worker

    def _await_ready(self) -> None:
        while not all(worker.is_ready for worker in self._workers):
            for key, _ in self._selector.select():
                key.data()

    def _serve_channel(self, worker: WorkerProcess) -> None:
        """Send what waits for a worker, and read what it says."""
        if worker.sender.waiting:
            self._pass_on(worker)
        if worker.listen():
            return
        self._selector.unregister(worker.sender.end)
        worker.sender.end.close()
        worker.process.join()
        if not worker.is_ready:
            raise Failed(worker.process.exitcode or 1)
        self._workers[worker.number] = self._started(worker.number)
        self._workers[worker.number].sender.waiting.extend(worker.sender.waiting)
        self._lost(worker)

    def _pass_on(self, worker: WorkerProcess) -> None:
        worker.sender.flush()
        # While it is too busy to take more, the channel says when it can.
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.sender.waiting else 0)
        self._selector.modify(worker.sender.end, events, partial(self._serve_channel, worker))

    def _read_stdin(self) -> None:
        """End with the program that holds the pipe."""
        if not os.read(STDIN, 4096):
            raise SystemExit

    # -- connections

    def _accept(self) -> None:
        with suppress(OSError):  # the client has left, or too many files are open
            connection, _ = self._listening.accept()
            self._silent[connection] = time.monotonic()
            self._selector.register(connection, selectors.EVENT_READ, partial(self._give, connection))

    def _give(self, connection: socket.socket) -> None:
        """Pass a connection on, by what has arrived of its first request."""
        head = b""
        with suppress(OSError):
            head = connection.recv(HEAD.most, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        self._selector.unregister(connection)
        del self._silent[connection]
        worker = self._workers[worker_of_head(head, self._share)]
        worker.sender.waiting.append(connection)
        self._pass_on(worker)

    def _pass_silent_on(self) -> None:
        oldest = time.monotonic() - SILENCE
        for connection in [each for each, since in self._silent.items() if since < oldest]:
            self._give(connection)
