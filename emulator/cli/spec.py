"""``spec``: bundle, validate and export the OpenAPI documents."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli.extras import require_extra


@click.group()
def spec() -> None:
    """Bundle, validate and export the OpenAPI documents."""


@spec.command()
def bundle() -> None:
    """Rebuild the bundles in openapi/dist from the YAML files.

    \b
    payments-emulator spec bundle
    """
    # Imported here, as below: help needs no documents.
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


@spec.command()
@click.option("--as", "form", type=click.Choice(("postman", "insomnia", "bruno")), required=True, help="For this tool.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE (bruno: a folder).")
def export(form: str, out: Path | None) -> None:
    """Write the whole API as a collection of requests.

    \b
    payments-emulator spec export --as postman --out payments.postman.json
    payments-emulator spec export --as insomnia --out payments.insomnia.json
    payments-emulator spec export --as bruno --out payments-bruno

    Run from first to last, each request finds the objects it needs: requests named Setup make them. Address and secret
    key are variables. The last request signs its body as the service signs webhooks.
    """
    from emulator.cli.collection_forms import FORMS
    from emulator.cli.record import write

    write(FORMS[form](), out)
