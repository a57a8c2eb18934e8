"""Buyers' phones: the mobile money prompts waiting on one, and the answers to them."""

from __future__ import annotations

from typing import Any

from emulator.core.handlers import Page, Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.simulation import mobile_money_prompts


async def index(engine: Engine, runtime: Runtime, number: str, query: Query) -> Page[Any]:
    """GET /phones/{number}: the prompts waiting on the phone, newest first."""
    await runtime.catch_up()
    waiting = mobile_money_prompts.waiting(runtime.world, mobile_money_prompts.number_in(number))
    page, size = query["page"], query["page_size"]
    shown = [mobile_money_prompts.shown(runtime.world, intent) for intent in waiting[(page - 1) * size : page * size]]
    return Page(shown, len(waiting), page, size)


async def answer(engine: Engine, runtime: Runtime, number: str, query: Query, body: Query) -> PaymentIntent:
    """POST /phones/{number}/answer: approve, reject or ignore a prompt."""
    arguments = {"number": mobile_money_prompts.number_in(number), "body": body}
    intent: PaymentIntent = await runtime.serve(mobile_money_prompts.answer, arguments, None)
    return intent


OPERATIONS = {"listPrompts": index, "answerPrompt": answer}
