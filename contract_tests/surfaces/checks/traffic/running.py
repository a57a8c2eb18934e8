"""A proxy that runs in this process, in front of a service."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from emulator.checks.traffic.beside import SideBySide
from emulator.checks.traffic.findings import Findings
from emulator.checks.traffic.proxy_server import ProxyOutcome, ProxyServer, ProxyTargets
from emulator.checks.traffic.traffic_log import Passed, RunWriter
from emulator.cli.server import serving as running
from emulator.testing.fresh_world import FreshWorld


class RunningProxy(NamedTuple):
    """Where the proxy is, and what it found: at the end of the block, or once ``taken`` so many requests."""

    url: str
    findings: Findings
    taken: Callable[[int], bool]

    @property
    def kinds(self) -> set[tuple[str, str]]:
        """Operation and field of each kind of difference."""
        return {(each.first.operation, each.first.place) for each in self.findings.groups}


@contextmanager
def proxying(
    upstream: str,
    *,
    settings: Mapping[str, Any] | None = None,
    webhooks_to: str | None = None,
    record: Path | None = None,
) -> Iterator[RunningProxy]:
    """A proxy on a free port in front of the service at a URL."""
    with ExitStack() as stack:
        world = stack.enter_context(FreshWorld("demo", "http://127.0.0.1:4747"))
        writer = stack.enter_context(RunWriter(record, upstream)) if record else None
        last: deque[Any] = deque(maxlen=200)
        side_by_side = SideBySide(world, settings or {}, last.append)

        arrived, done = threading.Condition(), []

        def take(passed: Passed) -> None:
            if writer:
                writer.add(passed)
            side_by_side.take(passed)
            with arrived:
                done.append(passed)
                arrived.notify_all()

        def taken(count: int) -> bool:
            with arrived:
                return arrived.wait_for(lambda: len(done) >= count, 60)

        server = ProxyServer(
            ProxyTargets(upstream, webhooks_to), ProxyOutcome(take, side_by_side.findings, last), "127.0.0.1", 0
        )
        with running(server):
            yield RunningProxy(server.url, side_by_side.findings, taken)
        side_by_side.finish()
