"""Deliveries on their way into an application under test, each for a limited time, and none beyond its end."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from typing import TypeVar

from emulator.testing.collector import PATIENCE, Delivery, DeliveryResult
from emulator.testing.forward_target import AppAnswer, ForwardTarget

T = TypeVar("T")

TIME_LIMIT: float = PATIENCE
"""Seconds (real time) an application has to answer a delivery, as any receiver has (Limits)."""

POLL = 0.1
"""Seconds between two looks at whether the application, which deliveries under way wait for, still runs."""

ERROR_LENGTH = 500
"""Characters of the body of a failed answer that are shown."""


class Forwarding:
    """Forwards the deliveries of ``world`` to a target until ``close``; several threads may do so at once."""

    def __init__(self, target: ForwardTarget, world: str) -> None:
        self._target = target
        self._world = world
        self._changed = threading.Condition()
        self._is_closed = False
        self._under_way = 0

    def result(self, delivery: Delivery) -> DeliveryResult:
        """The answer of the application; 500 and the exception if it raised one, 504 if it gave none in time."""
        with self._changed:
            if self._is_closed:
                return DeliveryResult(200)
            self._under_way += 1
        try:
            answer = in_thread(lambda: self._target.send(delivery))
            if not wait([answer], TIME_LIMIT).not_done:
                return _result(delivery, answer)
            result = self._late(delivery)
            self._target.cancel()
            return result
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Forward nothing more, let the deliveries under way end, each in its time, and release the target."""
        with self._changed:
            self._is_closed = True
            while self._under_way:
                if not self._target.is_running:
                    self._target.cancel()
                self._changed.wait(POLL)
        self._target.close()

    def _late(self, delivery: Delivery) -> DeliveryResult:
        event = delivery.event
        error = (
            f"{event.get('type', 'a delivery')} {event.get('id', '')} (attempt {delivery.attempt}) of the world "
            f"{self._world} was forwarded to the application, which has not answered within {TIME_LIMIT:g} s"
        )
        # The test may be over. As an error, the warning would end the receiver's thread, and the result is enough.
        with suppress(Warning):
            warnings.warn(error, RuntimeWarning, stacklevel=1)
        return DeliveryResult(504, error, TimeoutError(error))


def in_thread(call: Callable[[], T]) -> Future[T]:
    """What a call will return, in a thread that the end of the process does not wait for."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # raised again where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, name="payments-emulator-delivery", daemon=True).start()
    return future


def _result(delivery: Delivery, future: Future[AppAnswer]) -> DeliveryResult:
    try:
        answer = future.result()
    except CancelledError:
        return DeliveryResult(503, "the application was shut down before it answered")
    except Exception as error:  # any error of the application is a failed delivery, which the report shows
        return DeliveryResult(500, f"{type(error).__name__}: {error}{_hint(error)}", error)
    if answer.status < 500:
        return DeliveryResult(answer.status)
    said = answer.body.decode(errors="replace")[:ERROR_LENGTH]
    event = delivery.event.get("type", "a delivery")
    return DeliveryResult(answer.status, None, AssertionError(f"{event} was answered {answer.status}: {said}"))


def _hint(error: Exception) -> str:
    if not isinstance(error, RuntimeError) or "loop" not in str(error).lower():
        return ""
    return "; does a test client run the application's lifespan as well? Then give forward_to() that client"
