"""``spec``: look after the OpenAPI documents."""

from __future__ import annotations

import click

from emulator.cli.extras import require_extra


@click.group()
def spec() -> None:
    """Bundle and validate the OpenAPI documents."""


@spec.command()
def bundle() -> None:
    """Write the bundles in openapi/dist, made from the YAML files.

    \b
    payments-emulator spec bundle
    """
    # Imported here, as below: the help of a command line needs no documents.
    from emulator.document import bundles

    for path in bundles.write_bundles():
        click.echo(f"wrote {path.name}")


@spec.command()
def validate() -> int:
    """Check the documents against the OpenAPI specification.

    \b
    payments-emulator spec validate

    Exit status 1 if one breaks it. Needs the extra 'check'.
    """
    require_extra("check", "openapi_spec_validator")
    from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

    from emulator.document import bundles

    status = 0
    for name in (*bundles.SOURCES, *(source + bundles.OPENAPI_3_1 for source in bundles.SOURCES)):
        validator = OpenAPIV31SpecValidator if name.endswith(bundles.OPENAPI_3_1) else OpenAPIV30SpecValidator
        faults = [
            f"{'/'.join(map(str, fault.path))}: {fault.message}"
            for fault in validator(bundles.load(name)).iter_errors()
        ]
        click.echo(f"{name}: {'in order' if not faults else ''}{'; '.join(faults)}")
        status = 1 if faults else status
    return status
