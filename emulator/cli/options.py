"""Options that several commands share, the types of their values, and the files that they name."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from emulator.core import calendar
from emulator.core.event_types import EVENTS
from emulator.version import extra_command

DEFAULT_PORT = 4747
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"
DEFAULT_KEY = "sk_test_demo"

Decorator = Callable[[Any], Any]


def option(name: str, *names: str, **attributes: Any) -> Decorator:
    """Return an option with an environment variable: ``--port``, ``PAYMENTS_EMULATOR_PORT``."""
    return click.option(name, *names, envvar=variable(name), show_default=True, **attributes)


def variable(name: str) -> str:
    return (
        "PAYMENTS_EMULATOR_"
        + name.split("/", maxsplit=1)[0].removeprefix("--").replace("-", "_").upper()
    )


CONNECTION = (
    option("--url", default=DEFAULT_URL, metavar="URL", help="URL of the emulator."),
    option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App."),
    click.option("--app", metavar="NAME", help="Name of the (test) App, instead of its key."),
    option(
        "--control-token",
        metavar="TOKEN",
        help="Control token that the emulator was started with, if any.",
    ),
)
"""The options that name the emulator and the App."""


def with_client(function: Callable[..., Any]) -> Any:
    """Return a command with the options of a connection and its client as ``emulator``."""

    @wraps(function)
    def command(
        *, url: str, key: str, app: str | None, control_token: str | None, **chosen: Any
    ) -> Any:
        from emulator.cli.control_client import ControlClient

        context = click.get_current_context()
        if app and context.get_parameter_source("key") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--key and --app both name the App; give only one", context)
        # --app overrides a key from the environment.
        with ControlClient(url, None if app else key, app, control_token) as emulator:
            return function(emulator=emulator, **chosen)

    return with_options(CONNECTION)(command)


def with_options(options: Iterable[Decorator]) -> Decorator:
    def add(command: Any) -> Any:
        for decorate in reversed([*options]):
            command = decorate(command)
        return command

    return add


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
"""``--json`` of every command that prints objects."""


no_wait = click.option(
    "--no-wait", is_flag=True, help="Return at once, before webhooks have their outcome."
)
"""``--no-wait`` of every command that causes events."""


def guidance(mistyped: str, words: Iterable[str]) -> str:
    """Return the nearest allowed word; all of them where none is near."""
    # Imported here: only errors need it.
    from difflib import get_close_matches

    allowed = [*words]
    bare = {word.lstrip("-"): word for word in allowed}
    near = get_close_matches(mistyped.lstrip("-"), bare, n=1, cutoff=0.7)
    return f"did you mean `{bare[near[0]]}`?" if near else f"allowed: {', '.join(allowed)}"


class Parsed(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """A value that a function parses; its ``ValueError`` explains. Shells complete ``words``."""

    def __init__(self, name: str, parse: Callable[[str], Any], words: Sequence[str] = ()) -> None:
        self.name = name
        self.parse = parse
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def get_missing_message(
        self, param: click.Parameter, ctx: click.Context | None = None
    ) -> str | None:
        return guidance("", self._words).capitalize() if self._words else None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


class Number(click.FloatRange):
    """A number within bounds; ``nan`` passes click's comparisons, and infinity has no JSON."""

    name = "number"
    noun = "a number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is not {described(self)}", param, ctx)
        return number


class Integer(click.IntRange):
    """A whole number within bounds."""

    noun = "a whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not {described(self)}", param, ctx)


def described(numbers: Number | Integer) -> str:
    """Return the numbers that an option takes: ``a whole number from 1 to 65535``."""
    if numbers.min is None:
        return numbers.noun
    if numbers.max is None:
        return f"{numbers.noun} {'above' if numbers.min_open else 'of at least'} {numbers.min}"
    if numbers.min_open:
        return f"{numbers.noun} above {numbers.min}, {numbers.max} at most"
    return f"{numbers.noun} from {numbers.min} to {numbers.max}"


def _seed(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number") from None


SEED = Parsed("INTEGER", _seed)


def matching(name: str, pattern: str, description: str) -> Parsed:
    """Return the type of a text that matches a pattern. The emulator checks it further."""

    def parse(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(f"{value!r} is not {description}")
        return value

    return Parsed(name, parse)


ID = matching("ID", r"\w{1,100}…?", "an id such as req_4fKq9ZsT1mVbX7cR2yLdH8wN")


def _event_type(value: str) -> str:
    if value not in EVENTS:
        raise ValueError(f"there is no {value!r}; {guidance(value, EVENTS)}")
    return value


EVENT_TYPE = Parsed("EVENT", _event_type, [*EVENTS])


def duration(value: str) -> str:
    if not re.fullmatch(r"\d+[smhdw]|P[\dYMWDTHS.]+", value, re.ASCII):
        raise ValueError(f"{value!r} is not a duration such as 31d, 2h, 90s, P3M or P1Y")
    return value


DURATION = Parsed("DURATION", duration)


def instant(value: str) -> str:
    try:
        return calendar.normalise(value)
    except ValueError:
        allowed = "an instant such as 2026-03-01T00:00:00Z, or a day such as 2026-03-01"
        raise ValueError(f"{value!r} is not {allowed}") from None


INSTANT = Parsed("INSTANT", instant)


# Each of these imports what it needs: the help of a command line needs none of it.


def _clock_start(value: str) -> Any:
    from emulator.engine.clock import parse_start

    try:
        return parse_start(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not the start of a clock: {error}") from None


def _state_url(value: str) -> str:
    from emulator.engine.storage.urls import FORMS, is_state_url

    if not is_state_url(value):
        raise ValueError(f"{value!r} is not one of {FORMS}")
    return value


def _profile(value: str) -> Any:
    from emulator.document.profile import InvalidProfile, load

    try:
        return load(Path(value))
    except InvalidProfile as error:
        raise ValueError(str(error)) from None


def _assumption(value: str) -> tuple[str, str]:
    """Return the name and the value of an assumption, if there is one with such a value (B-99)."""
    from emulator.engine.reference_data import named_assumptions

    name, _, chosen = value.partition("=")
    known = named_assumptions()
    if name not in known:
        raise ValueError(f"{name!r} is not an assumption; there are {', '.join(known)}")
    if chosen not in known[name].values:
        raise ValueError(f"{name} is {' or '.join(known[name].values)}, not {chosen!r}")
    return name, chosen


CLOCK_START = Parsed("running|frozen|frozen@INSTANT", _clock_start)
STATE_URL = Parsed("STORE", _state_url)
PROFILE = Parsed("FILE", _profile)
ASSUMPTION = Parsed("NAME=VALUE", _assumption)


PORT = Integer(0, 65535)

FILE = click.Path(dir_okay=False, path_type=Path)


class InputFile(click.File):
    """A file to read."""

    def __init__(self) -> None:
        super().__init__("rb")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            reason = error.message.rpartition(": ")[2]
            self.fail(f"{value!r} cannot be opened: {reason}", param, ctx)


INPUT_FILE = InputFile()


class OutputFile(click.Path):
    """A file to write in a folder that exists: no long run begins with no place for its report."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"{path}: cannot be written: there is no folder {path.parent}", param, ctx)
        if not path.exists() and not os.access(path.parent, os.W_OK):
            self.fail(
                f"{path}: cannot be written: no files may be made in {path.parent}", param, ctx
            )
        return path


OUTPUT_FILE = OutputFile()


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Report a file that cannot be written on one line, exit status 2."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from None


def write_text(file: Path, text: str) -> None:
    with writing(file):
        file.write_text(text, "utf-8")


def read_snapshot(file: BinaryIO) -> Any:
    """Return the value in a file of JSON, which may have no end. Raises ``ClickException``."""
    from emulator.core.limits import MIB, SNAPSHOT  # not needed by the help of a command line

    name, content = file.name, file.read(SNAPSHOT.most + 1)
    if len(content) > SNAPSHOT.most:
        raise click.ClickException(
            f"{name}: is larger than {SNAPSHOT.most // MIB} MiB, the most that is imported"
        )
    try:
        return json.loads(content)
    except RecursionError:
        raise click.ClickException(f"{name}: is nested too deeply") from None
    except ValueError as error:
        raise click.ClickException(f"{name}: is not JSON: {error}") from None


def require_extra(extra: str, module: str) -> None:
    """Raise ``ClickException`` with the package to install if an extra's module is missing."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # of a submodule: there is no such package
        spec = None
    if spec is None:
        raise click.ClickException(f"this needs the extra '{extra}': {extra_command(extra)}")
