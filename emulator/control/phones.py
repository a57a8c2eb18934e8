"""Phones: the buyers' handsets, answered in their owners' place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.verbs import Page
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources import handsets
from emulator.resources.payment_intents import PaymentIntent

Query = Mapping[str, Any]


async def index(engine: Engine, runtime: Runtime, number: str, query: Query) -> Page[Any]:
    """GET /phones/{number}: the prompts that wait, newest first."""
    runtime.run_due()
    asked = handsets.waiting(runtime.world, handsets.number_in(number))
    page, size = query["page"], query["page_size"]
    shown = [handsets.shown(runtime.world, intent) for intent in asked[(page - 1) * size : page * size]]
    return Page(shown, len(asked), page, size)


async def answer(engine: Engine, runtime: Runtime, number: str, query: Query, body: Query) -> PaymentIntent:
    """POST /phones/{number}/answer."""
    arguments = {"number": handsets.number_in(number), "body": body}
    intent: PaymentIntent = await runtime.serve(handsets.answer, arguments, None)
    return intent


OPERATIONS = {"listPrompts": index, "answerPrompt": answer}
