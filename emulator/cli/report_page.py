"""A report as one HTML file: plots as inline SVG, each beside a table with the same facts."""

from __future__ import annotations

from emulator.cli.report_data import WorldReport
from emulator.html.plots import Axis
from emulator.html.templates import environment, in_language
from emulator.i18n.language import Language


def page(report: WorldReport, language: Language) -> str:
    """The file, in a language."""
    values = {**in_language(language), "report": report, "axis": Axis(report.began, report.now)}
    return environment("emulator.cli").get_template("report.html").render(values)
