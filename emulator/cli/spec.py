"""``spec``: bundle and validate the OpenAPI documents."""

from __future__ import annotations

import click

from emulator.cli.groups import LazyGroup
from emulator.cli.options import require_extra


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
    served = (
        source + version
        for version in (bundles.OPENAPI_3_0, bundles.OPENAPI_3_1)
        for source in bundles.SOURCES
    )
    for name in (*bundles.SOURCES, *served):
        validator = (
            OpenAPIV31SpecValidator
            if name.endswith(bundles.OPENAPI_3_1)
            else OpenAPIV30SpecValidator
        )
        errors = [
            f"{'/'.join(map(str, error.path))}: {error.message}"
            for error in validator(bundles.load(name)).iter_errors()
        ]
        click.echo(f"{name}: {'; '.join(errors) or 'valid'}")
        status = 1 if errors else status
    return status
