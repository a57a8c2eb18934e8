"""What forwards one delivery to an application, and what every such target shares."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from emulator.testing.collector import Delivery

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers of the connection, which are not forwarded."""


class AppAnswer(NamedTuple):
    """What the application answered."""

    status: int
    body: bytes


class ForwardTarget(Protocol):
    """Where deliveries are forwarded to."""

    @property
    def is_running(self) -> bool:
        """Whether deliveries under way can end while the thread that asks waits for them."""

    def send(self, delivery: Delivery) -> AppAnswer:
        """Forward one delivery unchanged, so that its signature stays valid. Raises what the application raises.

        Called in a thread for this delivery alone. Raises ``CancelledError`` after ``cancel``, and if the application
        was shut down.
        """

    def cancel(self) -> None:
        """Give up the deliveries under way, where the application can be interrupted."""

    def close(self) -> None:
        """Release what forwarding needs."""


def answer_of(response: Any) -> AppAnswer:
    """The answer in a response as of httpx."""
    return AppAnswer(response.status_code, response.content)


def forwarded_headers(delivery: Delivery) -> dict[str, str]:
    """The headers that the application is sent."""
    return {name: value for name, value in delivery.headers.items() if name not in HOP_BY_HOP}
