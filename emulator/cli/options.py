"""Options that several commands share (emulator, App, output), and their types of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from emulator.core.event_types import EVENTS

DEFAULT_PORT = 4747
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"
DEFAULT_KEY = "sk_test_demo"

Decorator = Callable[[Any], Any]


def option(name: str, *names: str, **attributes: Any) -> Decorator:
    """An option that can also be set in the environment: ``--port`` as ``PAYMENTS_EMULATOR_PORT``."""
    return click.option(name, *names, envvar=variable(name), show_default=True, **attributes)


def variable(name: str) -> str:
    """The environment variable of an option."""
    return "PAYMENTS_EMULATOR_" + name.split("/", maxsplit=1)[0].removeprefix("--").replace("-", "_").upper()


CONNECTION = (
    option("--url", default=DEFAULT_URL, metavar="URL", help="URL of the emulator."),
    option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App."),
    click.option("--app", metavar="NAME", help="Name of the (test) App, instead of its key."),
    option("--control-token", metavar="TOKEN", help="Control token that the emulator was started with, if any."),
)
"""The options that name the emulator and the App."""


def with_client(function: Callable[..., Any]) -> Any:
    """A command on a running emulator: adds the options of its connection and passes the client as ``emulator``."""

    @wraps(function)
    def command(**chosen: Any) -> Any:
        with connected(chosen) as emulator:
            return function(emulator=emulator, **{name: chosen[name] for name in chosen if name not in NAMES})

    return decorated(command, CONNECTION)


NAMES = frozenset({"url", "key", "app", "control_token"})


def decorated(command: Any, options: Iterable[Decorator]) -> Any:
    """A command with these options, in this order in the help."""
    for decorate in reversed([*options]):
        command = decorate(command)
    return command


def connected(chosen: dict[str, Any]) -> Any:
    """The client for the values of :data:`CONNECTION`. ``--app`` overrides a key from the environment."""
    # Imported here: help and usage errors need no HTTP client.
    from emulator.cli.client import ControlClient

    context = click.get_current_context()
    if chosen["app"] and context.get_parameter_source("key") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--key and --app both name the App; give only one", context)
    key = None if chosen["app"] else chosen["key"]
    return ControlClient(chosen["url"], key, chosen["app"], chosen["control_token"])


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
"""``--json`` of every command that prints objects."""


no_wait = click.option("--no-wait", is_flag=True, help="Return at once, before webhooks and emails have their outcome.")
"""``--no-wait`` of every command that causes events."""


def racing(no_wait: bool) -> dict[str, str]:
    """The headers of a request that does not wait for the webhooks and emails that it causes."""
    return {"Prefer": "respond-async"} if no_wait else {}


def limit(which: str) -> Decorator:
    """``--limit`` of a list, which shows the newest or the soonest objects."""
    return click.option(
        "--limit", "-n", type=click.IntRange(1), default=20, show_default=True, metavar="N", help=f"Show the N {which}."
    )


class Words(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """One of a list of words, which shells complete; the error for another word suggests the nearest and names all."""

    def __init__(self, name: str, words: Iterable[str]) -> None:
        self.name = name
        self._words = tuple(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself."""
        if value not in self._words:
            self.fail(f"there is no {value!r}; {guidance(value, self._words)}", param, ctx)
        return str(value)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The allowed words."""
        return guidance("", self._words)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that start with the incomplete one."""
        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


def guidance(mistyped: str, words: Iterable[str]) -> str:
    """The nearest allowed word; all of them where none is near."""
    # Imported here: only errors need it.
    from difflib import get_close_matches

    allowed = [*words]
    near = get_close_matches(mistyped, allowed, n=1)
    return f"did you mean `{near[0]}`?" if near else f"allowed: {', '.join(allowed)}"


EVENT_TYPE = Words("EVENT", EVENTS)


class Text(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """A text that matches a pattern; the error for another one describes it. The emulator checks it further."""

    def __init__(self, name: str, pattern: str, description: str) -> None:
        self.name = name
        self._pattern = re.compile(pattern, re.ASCII)
        self._description = description

    def matches(self, value: str) -> bool:
        """Whether the value matches."""
        return self._pattern.fullmatch(value) is not None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text itself."""
        if not self.matches(value):
            self.fail(f"{value!r}: {self._description}", param, ctx)
        return str(value)


DURATION = Text("DURATION", r"\d+[smhdw]|P[\dYMWDTHS.]+", "a duration such as 31d, 2h, 90s or P1M")
ID = Text("ID", r"\w{1,100}", "an id such as req_4fKq9ZsT1mVbX7cR2yLdH8wN")


class Instant(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """An instant, or a day, which means its first instant in UTC."""

    name = "INSTANT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The instant in ISO 8601."""
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return f"{value}T00:00:00Z"
        if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\S+", value, re.ASCII):
            self.fail(f"{value!r}: an instant such as 2026-03-01T00:00:00Z, or a day such as 2026-03-01", param, ctx)
        return str(value)


def complete_from(path: str, field: str) -> Callable[..., list[CompletionItem]]:
    """Shell completion with one field of a list of the running emulator; nothing if there is no emulator."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            with ctx, connected(ctx.params) as emulator:
                words = [item[field] for item in emulator.pages(path, 100)]
        except click.ClickException:
            return []
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete
