"""Commands that look after an installation: ``health``, ``state``, ``spec`` and ``completion``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import get_completion_class

from emulator.cli.groups import PROGRAM, LazyGroup
from emulator.cli.options import DEFAULT_PORT, STATE_URL, Number, as_json, require_extra, variable
from emulator.cli.output import counted, print_line
from emulator.cli.server import store_errors

if TYPE_CHECKING:
    from emulator.engine.storage.maintenance import Finding


def local_url() -> str:
    """Return the emulator of this machine, at the port that ``serve`` takes from the environment."""
    return f"http://127.0.0.1:{os.environ.get(variable('--port')) or DEFAULT_PORT}"


@click.command()
@click.option(
    "--url",
    default=local_url,
    envvar=variable("--url"),
    show_default="this machine, port $PAYMENTS_EMULATOR_PORT or 4747",
    metavar="URL",
    help="The emulator.",
)
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the emulator may take to answer.",
)
@as_json
def health(url: str, timeout: float, as_json: bool) -> int:
    """Check that an emulator answers.

    \b
    payments-emulator health
    payments-emulator health --url http://127.0.0.1:4747 --timeout 2

    Exit status 0 if it answers, 1 if not. It needs no key and no control token, and uses no proxy.
    """
    from emulator.cli.client import ControlClient
    from emulator.client.connections import Timeouts

    try:
        with ControlClient(url, key=None, timeouts=Timeouts(timeout, timeout)) as emulator:
            answer = emulator.get("/health")
    except click.UsageError:
        raise
    except click.ClickException as error:
        click.echo(f"payments-emulator: {error.format_message()}", err=True)
        return 1
    print_line(answer, health_line, as_json)
    return 0


def health_line(answer: Any) -> str:
    return f"{answer['status']}: version {answer['version']}, {counted(answer['apps'], 'App')}"


@click.group(cls=LazyGroup)
def state() -> None:
    """Check, compact and convert state stores.

    \b
    payments-emulator state check sqlite:shop.db
    payments-emulator state convert tinydb:shop.json sqlite:shop.db
    """


@state.command()
@click.argument("store", type=STATE_URL)
def check(store: str) -> int:
    """Check a state store; exit status 1 if it is invalid.

    It is read whole, as a server reads it, and nothing is changed. A SQLite file that a server uses cannot be read.

    \b
    payments-emulator state check sqlite:shop.db
    payments-emulator state check postgresql://emulator@127.0.0.1/worlds
    """
    from emulator.engine.storage import maintenance

    try:
        with store_errors():
            show(maintenance.check(store))
    except click.ClickException as error:
        click.echo(error.message)
        return 1
    return 0


@state.command()
@click.argument("store", type=STATE_URL)
def compact(store: str) -> None:
    """Compact a state store; no server may use it at the same time.

    \b
    payments-emulator state compact sqlite:shop.db
    """
    from emulator.engine.storage import maintenance
    from emulator.engine.storage.urls import file_of

    with store_errors():
        before = _size(store)
        maintenance.compact(store)
    if file_of(store):
        click.echo(f"{store}: {before:,} bytes before, {_size(store):,} now")


@state.command()
@click.argument("source", type=STATE_URL)
@click.argument("target", type=STATE_URL)
def convert(source: str, target: str) -> None:
    """Copy all worlds and snapshots to another, empty state store.

    An exported snapshot is a state store as well: tinydb:FILE.

    \b
    payments-emulator state convert tinydb:shop.json sqlite:shop.db
    """
    from emulator.engine.storage import maintenance

    with store_errors():
        show(maintenance.convert(source, target))


def show(findings: Iterable[Finding]) -> None:
    """Print a line for each world."""
    for found in findings:
        counts = f"{found.records} records, {found.jobs} jobs, {found.snapshots} snapshots"
        click.echo(f"{found.key}  {found.now}  {counts}")


def _size(store: str) -> int:
    from emulator.engine.storage.urls import file_of

    file = file_of(store)
    return file.stat().st_size if file and file.exists() else 0


@click.group(cls=LazyGroup)
def spec() -> None:
    """Bundle and validate the OpenAPI documents."""


@spec.command()
def bundle() -> None:
    """Rebuild the bundles in openapi/dist from the YAML files.

    \b
    payments-emulator spec bundle
    """
    from emulator.document import bundles

    for path in bundles.write_bundles():
        click.echo(f"wrote {path.name}")


@spec.command()
def validate() -> int:
    """Validate the documents against the OpenAPI specification.

    \b
    payments-emulator spec validate

    Exit status 1 if one is invalid. Needs the extra 'check'.
    """
    require_extra("check", "openapi_spec_validator")
    from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

    from emulator.document import bundles

    status = 0
    served = (source + version for version in (bundles.OPENAPI_3_0, bundles.OPENAPI_3_1) for source in bundles.SOURCES)
    for name in (*bundles.SOURCES, *served):
        validator = OpenAPIV31SpecValidator if name.endswith(bundles.OPENAPI_3_1) else OpenAPIV30SpecValidator
        errors = [
            f"{'/'.join(map(str, error.path))}: {error.message}"
            for error in validator(bundles.load(name)).iter_errors()
        ]
        click.echo(f"{name}: {'; '.join(errors) or 'valid'}")
        status = 1 if errors else status
    return status


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script.

    \b
    eval "$(payments-emulator completion bash)"       in ~/.bashrc
    eval "$(payments-emulator completion zsh)"        in ~/.zshrc
    payments-emulator completion fish | source        in ~/.config/fish/config.fish

    It completes commands, options, event types, and the snapshots, requests and emails of a running emulator.
    """
    kind = get_completion_class(shell)
    assert kind
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, "_PAYMENTS_EMULATOR_COMPLETE").source())
