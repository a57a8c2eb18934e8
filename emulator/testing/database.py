"""The database of an application that a delivery calls, as far as a test has a part in it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from emulator.client.api import Api


class Database:
    """The connections of an application to its database: each thread has its own."""

    def api(self, *options: Any) -> Api:
        """Return the test's client of its world."""
        return Api(*options)

    def waiting(self) -> AbstractContextManager[None]:
        """Entered where the test waits for deliveries."""
        return nullcontext()

    def wsgi(self, app: Any) -> Any:
        return app

    def asgi(self, app: Any) -> Any:
        return app
