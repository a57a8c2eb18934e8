"""``spec``: look after the OpenAPI documents."""

from __future__ import annotations

import click

from emulator.cli.extras import need


@click.group()
def spec() -> None:
    """Bundle and validate the OpenAPI documents."""


@spec.command()
def bundle() -> None:
    """Make the bundles in openapi/dist anew from the YAML files.

    \b
    payments-emulator spec bundle
    """
    # Imported here, as below: the help of a command line needs no documents.
    from emulator.document import store

    for path in store.write_bundles():
        click.echo(f"wrote {path.name}")


@spec.command()
def validate() -> int:
    """Check the documents against the OpenAPI specification.

    \b
    payments-emulator spec validate

    Exit status 1 if one breaks it. Needs the extra 'check'.
    """
    need("check", "openapi_spec_validator")
    from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

    from emulator.document import store

    status = 0
    for name in (*store.SOURCES, *(source + store.TWIN for source in store.SOURCES)):
        validator = OpenAPIV31SpecValidator if name.endswith(store.TWIN) else OpenAPIV30SpecValidator
        faults = [
            f"{'/'.join(map(str, fault.path))}: {fault.message}" for fault in validator(store.load(name)).iter_errors()
        ]
        click.echo(f"{name}: {'in order' if not faults else ''}{'; '.join(faults)}")
        status = 1 if faults else status
    return status
