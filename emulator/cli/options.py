"""Options that several commands take in the same way: which emulator, which App, how to print; and kinds of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from emulator.events import EVENTS

DEFAULT_PORT = 4747
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"
DEFAULT_KEY = "sk_test_demo"

Decorator = Callable[[Any], Any]


def option(name: str, *names: str, **attributes: Any) -> Decorator:
    """An option that the environment can set too: ``--port`` is ``PAYMENTS_EMULATOR_PORT``."""
    return click.option(name, *names, envvar=variable(name), show_envvar=True, show_default=True, **attributes)


def variable(name: str) -> str:
    """The environment variable of an option."""
    return "PAYMENTS_EMULATOR_" + name.split("/", maxsplit=1)[0].removeprefix("--").replace("-", "_").upper()


CONNECTION = (
    option("--url", default=DEFAULT_URL, metavar="URL", help="The emulator."),
    option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App."),
    click.option("--app", metavar="NAME", help="Name of the (test) App, instead of its key."),
    option("--control-token", metavar="TOKEN", help="The token the emulator was started with, if any."),
)
"""Which emulator and which App a command is about."""


def speaking(function: Callable[..., Any]) -> Any:
    """A command that speaks to a running emulator: with the options that say which, and the client as ``emulator``."""

    @wraps(function)
    def command(**chosen: Any) -> Any:
        with connected(chosen) as emulator:
            return function(emulator=emulator, **{name: chosen[name] for name in chosen if name not in NAMES})

    return decorated(command, CONNECTION)


NAMES = frozenset({"url", "key", "app", "control_token"})


def decorated(command: Any, options: Iterable[Decorator]) -> Any:
    """A command with these options, in this order of the help."""
    for decorate in reversed([*options]):
        command = decorate(command)
    return command


def connected(chosen: dict[str, Any]) -> Any:
    """The client for the values of :data:`CONNECTION`. A key from the environment gives way to ``--app``."""
    # Imported here: the help and the mistakes of a command line need no HTTP client.
    from emulator.cli.client import ControlClient

    context = click.get_current_context()
    if chosen["app"] and context.get_parameter_source("key") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--key and --app both say which App; give one of them", context)
    key = None if chosen["app"] else chosen["key"]
    return ControlClient(chosen["url"], key, chosen["app"], chosen["control_token"])


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
"""The option of every command that shows something."""


def limit(which: str) -> Decorator:
    """``--limit`` of a list, of which these are told."""
    return click.option(
        "--limit", "-n", type=click.IntRange(1), default=20, show_default=True, help=f"How many of the {which}."
    )


class Words(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """One of many words; a mistyped one is told its nearest and all that are allowed. They complete in the shell."""

    def __init__(self, name: str, words: Iterable[str]) -> None:
        self.name = name
        self._words = tuple(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself."""
        if value not in self._words:
            self.fail(f"there is no {value!r}; {guidance(value, self._words)}", param, ctx)
        return str(value)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """All that are allowed."""
        return guidance("", self._words)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Those that begin so."""
        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


def guidance(mistyped: str, words: Iterable[str]) -> str:
    """The nearest of the words that are allowed, and all of them."""
    # Imported here: only who mistypes needs it.
    from difflib import get_close_matches

    allowed = [*words]
    near = get_close_matches(mistyped, allowed, n=1)
    return (f"did you mean {near[0]}? " if near else "") + f"allowed: {', '.join(allowed)}"


EVENT_TYPE = Words("EVENT", EVENTS)


class Text(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """A text of a certain form; one of another form is told what it should be. The emulator has the last word."""

    def __init__(self, name: str, form: str, told: str) -> None:
        self.name = name
        self._form = re.compile(form, re.ASCII)
        self._told = told

    def fits(self, value: str) -> bool:
        """Whether it has that form."""
        return self._form.fullmatch(value) is not None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text itself."""
        if not self.fits(value):
            self.fail(f"{value!r}: {self._told}", param, ctx)
        return str(value)


DURATION = Text("DURATION", r"\d+[smhdw]|P[\dYMWDTHS.]+", "a duration such as 31d, 2h, 90s or P1M")
ID = Text("ID", r"\w{1,100}", "an id such as req_4fKq9ZsT1mVbX7cR2yLdH8wN")


class Instant(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """An instant, or a day, which stands for its first instant in UTC."""

    name = "INSTANT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The instant as the emulator reads it."""
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return f"{value}T00:00:00Z"
        if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\S+", value, re.ASCII):
            self.fail(f"{value!r}: an instant such as 2026-03-01T00:00:00Z, or a day such as 2026-03-01", param, ctx)
        return str(value)


def remembered(path: str, field: str) -> Callable[..., list[CompletionItem]]:
    """Completes by one field of what a running emulator lists; by nothing where none answers at once."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            with ctx, connected(ctx.params) as emulator:
                words = [item[field] for item in emulator.pages(path, 100)]
        except click.ClickException:
            return []
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete
