"""The parts of which the sentences about one record are made, in one language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emulator.control.names import instrument
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.presentation.languages.language import Language
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction

NEXT_JOBS: Mapping[str, str] = {
    "subscription.renew": N_("It renews on {day}."),
    "subscription.retry": N_("The charge is tried again on {day}."),
    "subscription.charge": N_("The first period is charged on {day}."),
    "subscription.expire": N_("It ends on {day}."),
    "invoice.overdue": N_("If it is not paid, it is overdue on {day}."),
    "payment_intent.answer": N_("The operator answers on {day}."),
    "refund.send": N_("It goes to the operator on {day}."),
    "refund.answer": N_("The operator answers on {day}."),
    "refund.expire": N_("Without an answer it expires on {day}."),
    "checkout_session.expire": N_("It expires on {day}."),
    "payment_method.expire": N_("The card expires on {day}."),
    "transaction.settle": N_("It is settled on {day}."),
    "transaction.dispute": N_("The buyer disputes it on {day}."),
    "webhook.attempt": N_("The next attempt is on {day}."),
}
"""What comes next, by the kind of job that is planned."""


class AnswerWriter:
    """The sentences about one record, in one language."""

    def __init__(self, world: World, record: Record, language: Language) -> None:
        self.world = world
        self.record = record
        self.language = language

    def gettext(self, message: str, **values: object) -> str:
        """A message in the language."""
        return self.language.gettext(message, **values)

    def ngettext(self, singular: str, plural: str, count: int, **values: object) -> str:
        """A message about a number of things."""
        return self.language.ngettext(singular, plural, count, **values)

    def day(self, instant: str) -> str:
        """The day of an instant, and the time of day where the world's clock is on that day."""
        day, time = self.language.day(instant), self.language.instant(instant, "HH:mm 'UTC'")
        return f"{day}, {time}" if instant[:10] == self.world.now[:10] else day

    def money(self, amount: int, currency: str) -> str:
        """An amount in minor units."""
        return self.language.money(amount, currency)

    def planned(self) -> dict[str, str]:
        """When the next job of each kind is due that is planned for the record, the soonest first."""
        found: dict[str, str] = {}
        for job in sorted(
            self.world.table(Job).where("about", self.record.id), key=lambda job: (job.due, job.sequence)
        ):
            found.setdefault(job.name, job.due)
        return found

    def job(self, name: str, due: str) -> str:
        """What a planned job does, and on which day."""
        return self.gettext(NEXT_JOBS[name], day=self.day(due))

    def next(self) -> str:
        """What is planned for the record: the soonest of the jobs that have a sentence."""
        for name, due in self.planned().items():
            if name in NEXT_JOBS:
                return self.job(name, due)
        return self.gettext("Nothing more is planned.")

    def paid_with(self, intent: PaymentIntent | Transaction) -> str:
        """What a payment was made with."""
        used = intent.instrument
        return instrument(used.type, used.details, self.language) if used else self.gettext("the payment method")

    def reason(self, intent: PaymentIntent | None) -> str:
        """The code with which a payment failed."""
        return intent.last_error.code if intent is not None and intent.last_error else ""

    def failures(self, intents: Iterable[PaymentIntent]) -> str:
        """How many of these payments failed, and why the last one did; empty if none failed."""
        failed = [intent for intent in intents if intent.last_error]
        if not failed:
            return ""
        return self.ngettext(
            "1 payment failed, with {reason}.",
            "{count} payments failed, the last with {reason}.",
            len(failed),
            reason=self.reason(failed[-1]),
        )
