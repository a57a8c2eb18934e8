"""``python -m contract_tests.surfaces.crawl``: pages of many eventful worlds, in each language; exit status 1 on a fault."""

from __future__ import annotations

import sys

import click

from contract_tests.surfaces.crawl.crawler import LANGUAGES, crawl
from contract_tests.surfaces.crawl.worlds import eventful_world
from emulator.testing import LocalServer


@click.command()
@click.option("--seeds", default=12, show_default=True, help="How many worlds.")
@click.option("--steps", default=200, show_default=True, help="Steps of the walk that each begins with.")
@click.option(
    "--most", default=10, show_default=True, help="Pages of each shape, as of objects of one kind and status."
)
@click.option("--first", default=0, show_default=True, help="The first seed.")
def main(seeds: int, steps: int, most: int, first: int) -> None:
    """Crawl, and print each page that fails, with what was logged."""
    server = LocalServer(strict=True)
    findings = pages = 0
    try:
        for seed in range(first, first + seeds):
            with eventful_world(server, seed, steps) as emulator:
                for language in LANGUAGES:
                    visit = crawl(emulator, most, lambda shape, language=language: language)
                    pages += visit.pages.total()
                    findings += len(visit.findings)
                    for each in visit.findings:
                        click.echo(f"seed {seed}, {each.language}: {each.address}\n{each.fault}")
    finally:
        server.stop()
    click.echo(f"{seeds} worlds, {pages:,} pages: {findings} faults.")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
