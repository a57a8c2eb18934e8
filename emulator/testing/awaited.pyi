"""The helpers of AsyncEmulator for type checkers. Written from the plain ones, not by hand."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from emulator.checks.app.report import AppReport
from emulator.client.api import Api
from emulator.client.api import RequestOptions
from emulator.client.connections import Timeouts
from emulator.client.messages import ApiResponse
from emulator.testing import objects
from emulator.testing.base_emulator import Snapshot
from emulator.testing.collector import Delivery
from emulator.testing.emulator import Emulator
from emulator.testing.objects import ClockAdvance
from emulator.testing.objects import Event
from emulator.testing.objects import EventType
from emulator.testing.objects import Fault
from emulator.testing.objects import Outcome
from emulator.testing.objects import PaymentIntent
from emulator.testing.objects import Ref
from emulator.testing.objects import Settings
from emulator.testing.webhooks import Webhooks
from emulator.testing.world_parts import Emails
from emulator.testing.world_parts import Events
from emulator.testing.world_parts import Ledger
from emulator.testing.world_parts import WorldClock
from typing import Any
from typing import Unpack
import datetime as dt

class AsyncApi:
    plain: Api

    def __init__(self, plain: Api) -> None: ...
    async def get(self, path: str, /, **query: object) -> Any: ...
    async def post(self, path: str, body: object = None, /, **headers: str) -> Any: ...
    async def patch(self, path: str, body: Mapping[str, object]) -> Any: ...
    async def delete(self, path: str) -> object: ...
    async def call(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Any:
        """Send any request and return the JSON of the response (None without a body).

        Raises :class:`RequestRefused` for an error.
        """

    async def send(self, method: str, path: str, **options: Unpack[RequestOptions]) -> ApiResponse:
        """Send a request; return its successful response. Raises :class:`RequestRefused`."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        timeouts: Timeouts | None = None,
        **options: Unpack[RequestOptions],
    ) -> ApiResponse:
        """Send any request and return its response, an error too."""

    async def newest(self, path: str, *, size: int = ..., **query: object) -> Iterator[Any]:
        """Yield a list's objects, newest first; read pages of ``size`` objects on demand."""

    async def oldest(self, path: str, *, size: int = ..., **query: object) -> list[Any]: ...

class AsyncWorldClock:
    plain: WorldClock

    def __init__(self, plain: WorldClock) -> None: ...
    async def now(self) -> str:
        """The current instant of the world."""

    async def datetime(self) -> dt.datetime:
        """The current instant as an aware ``datetime`` in UTC."""

    async def show(self) -> objects.Clock:
        """Return ``now``, ``mode``, ``rate``, ``next_due_at`` and the count of ``pending`` jobs."""

    async def advance(
        self,
        by: str | dt.timedelta | None = None,
        *,
        to: str | dt.date | None = None,
        until: str | None = None,
        until_event: objects.EventType | None = None,
    ) -> objects.ClockAdvance:
        """Move the clock by a duration, to an instant or day, or until a job or an event.

        ``by``: ``31d``, ``P1M``; ``to``: an instant or a day; ``until="next"``: the next job;
        ``until_event``: an event type.

        Returns when all jobs that became due have run and all deliveries have ended, with counts of
        what happened. Raises ``AssertionError`` if a job failed.
        """

    async def freeze(self, at: str | dt.date | None = None) -> objects.Clock:
        """Stop the clock, now or at a later instant."""

    async def run(self, rate: float = 1) -> objects.Clock:
        """Let the clock run from the current instant, ``rate`` seconds for each real second."""

    async def schedule(self, until: str | None = None) -> list[objects.ScheduledJob]:
        """Return planned jobs by time; ``until`` (instant, duration) runs a copy of the world."""

    async def next_job(self) -> objects.ScheduledJob | None: ...
    async def settle(self) -> objects.ClockAdvance:
        """Wait for the outcomes of webhooks, emails and due work; do not move a frozen clock."""

class AsyncEvents:
    plain: Events

    def __init__(self, plain: Events) -> None: ...
    async def of(
        self, type: objects.EventType | None = None, object: objects.Ref | None = None
    ) -> list[objects.Event]:
        """Return events so far: all, of a type, or about an object (object or id); oldest first."""

    async def types(self) -> list[objects.EventType]:
        """The types of all events so far, oldest first."""

    async def last(
        self, type: objects.EventType, object: objects.Ref | None = None
    ) -> objects.Event:
        """Return the newest event of a type, optionally about an object.

        Raises ``AssertionError`` as ``wait_for`` if there is none so far.
        """

    async def wait_for(
        self, type: objects.EventType, object: objects.Ref | None = None, timeout: int = 10
    ) -> objects.Event:
        """Wait for an event of a type; return the newest. ``timeout``: real seconds, at most 30.

        Raises ``AssertionError`` with the events so far.
        """

    async def summary(self) -> str:
        """Return the events so far and the next job, as text for error messages."""

class AsyncEmails:
    plain: Emails

    def __init__(self, plain: Emails) -> None: ...
    async def to(self, address: str, kind: objects.EmailKind | None = None) -> list[objects.Email]:
        """Return the emails to an address, optionally of a kind (``invoice``, ``receipt`` …)."""

    async def of(self, kind: objects.EmailKind | None = None) -> list[objects.Email]:
        """Return all emails so far, or those of one kind; oldest first."""

    async def wait_for(
        self, kind: objects.EmailKind | None = None, to: str | None = None, timeout: int = 10
    ) -> objects.Email:
        """Wait for an email (a kind, an address) and return the newest; ``timeout``: real seconds.

        Raises ``AssertionError`` with the emails so far.
        """

    async def html(self, email: objects.Email) -> str:
        """Return the HTML of an email."""

    async def raw(self, email: objects.Email) -> bytes:
        """Return the MIME message of an email, attachments included."""

    async def summary(self) -> str:
        """Return the emails so far, as text for error messages."""

class AsyncLedger:
    plain: Ledger

    def __init__(self, plain: Ledger) -> None: ...
    async def totals(self) -> dict[str, dict[str, int]]:
        """Accounts' balances by currency: ``{"XAF": {"buyers": -5000, "merchant": 4855, …}}``."""

    async def entries(
        self, object: str | None = None, currency: str | None = None
    ) -> list[objects.LedgerEntry]:
        """Return the journal's entries, oldest first, by object (its id) or currency, or all."""

    async def balanced(self) -> bool:
        """Whether everything adds up."""

    async def assert_balanced(self) -> None:
        """Raise ``AssertionError`` with the requests and jobs that left wrong sums."""

class AsyncWebhooks:
    plain: Webhooks

    def __init__(self, plain: Webhooks) -> None: ...
    async def listen(self, /, *events: objects.EventSelector, **fields: object) -> Webhooks:
        """Replace the endpoint by one for these events or other ``fields``; drop past deliveries.

        Such fields are ``security_profile`` (``HMAC_SHA256``, ``BASIC``, ``JWT``) and
        ``retry_policy``.
        """

    async def endpoint(self) -> objects.WebhookEndpointWithSecret:
        """The webhook endpoint, its ``secret`` included."""

    async def secret(self) -> str:
        """The secret that signs the deliveries, for the application under test."""

    async def deliveries(self) -> list[Delivery]:
        """All deliveries so far in order of arrival, also wrongly signed ones; more may come."""

    async def events(self) -> list[objects.Event]:
        """Events delivered so far, each once, in order of arrival; pending deliveries end first."""

    async def wait_for(
        self, type: objects.EventType, object: objects.Ref | None = None, timeout: float = 10
    ) -> objects.Event:
        """Wait for the next event of a type (about an object or id); return each event only once.

        ``timeout`` in real seconds. Raises ``AssertionError`` with the deliveries so far.
        """

    async def assert_delivered(
        self, type: objects.EventType, object: objects.Ref | None = None, times: int | None = None
    ) -> list[objects.Event]:
        """Assert that events of a type (about an object) were delivered, and return them.

        At least one, or exactly ``times``. Waits for pending deliveries; does not move the clock.
        """

    async def refute_delivered(
        self, type: objects.EventType, object: objects.Ref | None = None
    ) -> None:
        """Assert that no event of a type (about an object) came. Waits for pending deliveries."""

    async def answer(self, *statuses: int) -> Webhooks:
        """Respond to the next deliveries with these statuses without forwarding them."""

    async def stop_forwarding(self) -> None:
        """Respond to deliveries here again, after those under way; shut down an ASGI target."""

    async def summary(self) -> str:
        """Return deliveries, undelivered events and the next job, as text for error messages."""

    async def so_far(self) -> list[Delivery]:
        """The deliveries so far; does not register an endpoint if there is none."""

    async def close(self) -> None:
        """Discard the deliveries and stop forwarding; the endpoint is deleted with its world."""

class AsyncEmulator:
    plain: Emulator

    def __init__(self, plain: Emulator) -> None: ...
    async def customer(self, /, **fields: Unpack[objects.CustomerCreate]) -> objects.Customer:
        """Create a customer, with an email of its own and a phone that pays."""

    async def plan(
        self, /, **fields: Unpack[objects.SubscriptionPlanCreate]
    ) -> objects.SubscriptionPlan:
        """Create a plan of 5,000 XAF a month."""

    async def subscription(
        self, /, **fields: Unpack[objects.SubscriptionCreate]
    ) -> objects.Subscription:
        """Create a subscription (default: new customer, new plan), with its first period paid."""

    async def session(
        self, /, **fields: Unpack[objects.CheckoutSessionCreate]
    ) -> objects.CheckoutSession:
        """Open a checkout session of 3,000 XAF, or for a new plan; default: a new customer."""

    async def invoice(
        self, /, *, finalize: bool = True, **fields: Unpack[objects.InvoiceCreate]
    ) -> objects.Invoice:
        """Create an invoice of 3,000 XAF (default: new customer); ``finalize``: it can be paid."""

    async def pay(
        self,
        target: Ref,
        /,
        *,
        phone: str | None = None,
        card: str | Mapping[str, object] | None = None,
        iban: str | None = None,
        email: str | None = None,
        wait: bool = True,
        **fields: object,
    ) -> PaymentIntent:
        """Pay a checkout session, payment link or invoice (object, id or page's URL) as a buyer.

        By mobile money (``phone``), ``card`` (its number), bank transfer (``iban``) or PayPal
        (``email``); without any of them with a method that works. ``fields``: ``quantity``,
        ``amount`` (minor units), ``product``, ``customer``. Returns the payment intent, also if the
        payment failed: see its ``status`` and ``last_error``. On a frozen clock it returns when the
        webhooks of the payment have their outcome; ``wait=False`` returns at once.
        """

    async def settle(self) -> ClockAdvance:
        """Wait until everything caused so far has its outcome: webhooks and what is due now.

        For what the application did by itself under ``/v1``. Raises ``AssertionError`` if a job
        failed.
        """

    async def fail_next(
        self,
        /,
        operation: str = "payment",
        code: str | None = None,
        *,
        times: int = 1,
        wait: bool = True,
        **match: object,
    ) -> Outcome:
        """Make the next ``payment``, ``refund`` or webhook ``delivery`` fail, or ``times`` of them.

        ``match``: only with this ``customer``, ``amount`` or ``payment_method_type``. On a frozen
        clock what was caused before is settled first; with ``wait=False`` deliveries under way may
        be among the next ones.
        """

    async def fault(
        self,
        then: Mapping[str, object],
        /,
        *,
        times: int | None = None,
        probability: float | None = None,
        starts_at: str | None = None,
        ends_at: str | None = None,
        wait: bool = True,
        **match: object,
    ) -> Fault:
        """Inject a fault into the next requests, or webhook deliveries, that ``match``.

        ``fault({"drop": "after"}, method="POST", path="/customers/")``; all fields are those of
        ``POST /_emulator/faults``. A fault applies once, ``times`` times, or each time with a
        ``probability``; an outage lasts from ``starts_at`` until ``ends_at``, instants or durations
        from now. ``wait`` as in :meth:`fail_next`.
        """

    async def trigger(
        self, event: EventType, /, *, wait: bool = True, **overrides: object
    ) -> Event:
        """Trigger an event by real state changes, create the objects it needs, and return it.

        On a frozen clock it returns when the webhooks have their outcome; ``wait=False`` returns at
        once.
        """

    async def configure(self, /, **settings: object) -> Settings:
        """Change settings of the App, such as ``tax_rate=18``, and return all settings."""

    async def snapshot(self, name: str | None = None) -> Snapshot:
        """Save the current state of the world, to be restored later."""

    async def record(self, name: str, /) -> None:
        """Have a failed test's world recorded in ``payments-recordings/NAME.py``.

        The pytest plugin writes it; ``pytest NAME.py`` does the same again. Raises ``ValueError``
        for a name that is no name of a file: letters, digits, ``.``, ``_`` and ``-``.
        """

    async def recording(self, form: str = "pytest", /) -> str:
        """Return a recording of this world so far, in a form of ``GET /_emulator/recording``."""

    async def another(self, name: str, *, start: str = "") -> Emulator:
        """Return a new world on the server, of this one's initial state; the caller closes it.

        Its clock is frozen at ``start`` (an instant), where one is given.
        """

    async def story(self) -> str:
        """Return a report of the world's history so far, as shown with a failed test."""

    async def close(self, *, keep: bool = False) -> None:
        """Discard a shared server's world (unless ``keep``), or stop this object's own server."""

    async def test_app(
        self,
        scenario: Callable[[Emulator], object],
        /,
        *,
        only: Sequence[str] = ...,
        ignore: Sequence[str] = ...,
        budget: float | None = None,
        jobs: int = 1,
        whole: bool = False,
        every: bool = False,
        afterwards: str = ...,
    ) -> AppReport:
        """Repeat a scenario with each request and webhook that can go wrong; compare the endings.

        ``scenario(emulator)`` plays what the application does, each time in a new world that starts
        as this one did. It may return a function, which is called after faults have ended and the
        clock was moved by ``afterwards``; what that returns must be the same each time, as must the
        objects and sums of money of the world. If it yields the function instead, that is also
        called whenever ``emulator.clock`` is moved later. ``only`` has patterns of cases (``5:*``,
        ``*:twice``, ``lost``), ``ignore`` rules of the audit that count for nothing. ``budget``
        (seconds, real time) ends the search early: before one case of each kind was tried that is
        an error, later a warning, or with ``whole`` an error.
        ``every`` also tries the cases at places that are like others.
        ``jobs`` is how many runs there are at a time, in threads: then ids differ from run to run,
        and what the function returns must hold none.

        Raises ``AssertionError`` with everything that was found, ``ValueError`` for an unknown rule
        and ``LookupError`` for a pattern that names no case.
        """
