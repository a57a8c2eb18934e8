"""A mixin for ``unittest``: a world of its own for each test, and its report with a failure."""

from __future__ import annotations

import hashlib
import inspect
import os
import unittest
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ClassVar

from emulator.testing.base_emulator import story_or_reason
from emulator.testing.emulator import Emulator
from emulator.testing.servers import LocalServer, RemoteServer


class PaymentsMixin(unittest.TestCase):
    """``class ShopTest(PaymentsMixin, unittest.TestCase)``: each test has an :class:`Emulator`.

    It is ``self.payments``.

    ``payments_options`` are arguments of :class:`Emulator`: ``clock``, ``seed``, ``settings``,
    ``fixtures``. All tests share one server: that of ``PAYMENTS_EMULATOR_URL``, or one in a thread
    of this process. It works with ``unittest.IsolatedAsyncioTestCase`` and Django's test cases as
    well. A ``setUp`` of your own calls ``super().setUp()`` first.
    """

    payments: Emulator
    payments_options: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803  # unittest's name
        super().__init__(methodName)
        # Here and not in setUp, because unittest looks the method up before that.
        if test := getattr(self, methodName, None):
            setattr(self, methodName, self._reporting(test))

    def setUp(self) -> None:
        """Open the world of this test; it is discarded afterwards."""
        super().setUp()
        url = os.environ.get("PAYMENTS_EMULATOR_URL")
        server = RemoteServer(url) if url else _local_server()
        if url:
            self.addCleanup(server.stop)
        self.payments = Emulator(
            key=_key(self.id(), elsewhere=bool(url)), server=server, **self.payments_options
        )
        self.addCleanup(self.payments.close)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            error.add_note(story_or_reason(self.payments))
            raise

    def _reporting(self, test: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(test):

            @wraps(test)
            async def awaited() -> None:
                with self._noted():
                    await test()

            return awaited

        @wraps(test)
        def called() -> None:
            with self._noted():
                test()

        return called


def _key(test: str, *, elsewhere: bool) -> str:
    """Return a test's key for its world: constant, as ids are, except on a shared server."""
    run = uuid.uuid4().hex if elsewhere else ""
    return f"sk_test_{hashlib.sha256(f'{run}{test}'.encode()).hexdigest()[:24]}"


@cache
def _local_server() -> LocalServer:
    return LocalServer()
