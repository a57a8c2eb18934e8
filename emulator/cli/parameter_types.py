"""Types of option values that say what is wrong with a value: clocks, state stores, SMTP servers, assumptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emulator.engine.storage.urls import FORMS, is_state_url


class ClockStart(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """``running``, ``frozen`` or ``frozen@INSTANT``."""

    name = "running|frozen|frozen@INSTANT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The clock's mode and, for ``frozen@``, its instant."""
        # Imported here: the help of a command line needs no clock.
        from emulator.engine.world_clock import parse_start

        try:
            return parse_start(value)
        except ValueError:
            return self.fail(
                f"{value!r}: running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z", param, ctx
            )


class StateUrl(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """The URL of a state store, in which worlds persist."""

    name = "STORE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The URL itself, if it has a valid form."""
        if not is_state_url(value):
            self.fail(f"{value!r}: {FORMS}", param, ctx)
        return value


class Smtp(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """``smtp://user:password@host:port``, or ``smtps://``."""

    name = "URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The SMTP server at the URL."""
        from emulator.engine.outbox import SmtpServer

        try:
            return SmtpServer.at(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class ProfileFile(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """A file that ``calibrate --out`` wrote."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The profile in the file."""
        from emulator.document.profile import InvalidProfile, load

        try:
            return load(Path(value))
        except InvalidProfile as error:
            return self.fail(str(error), param, ctx)


class AssumptionValue(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """``NAME=VALUE`` of an assumption (B-99)."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name and the value, if there is such an assumption with such a value."""
        from emulator.engine.reference_data import named_assumptions

        name, _, chosen = value.partition("=")
        known = named_assumptions()
        if name not in known:
            self.fail(f"{name!r} is no assumption; there are {', '.join(known)}", param, ctx)
        if chosen not in known[name].values:
            self.fail(f"{name} is {' or '.join(known[name].values)}, not {chosen!r}", param, ctx)
        return name, chosen
