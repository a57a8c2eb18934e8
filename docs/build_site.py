"""Builds the guide into the wheel, so that an installed emulator has it with no checkout around."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from mkdocs.commands.build import build
from mkdocs.config import load_config


class SiteHook(BuildHookInterface[Any]):
    """Hatch's hook for the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the site to what the wheel holds. A checkout that is installed as it stands needs none."""
        if version != "editable":
            # MkDocs says by its logger alone why it stops.
            logging.basicConfig(level=logging.WARNING)
            site = Path(self.root, "build", "guide")
            build(load_config(str(Path(self.root, "docs", "mkdocs.yml")), site_dir=str(site), strict=True))
            build_data["force_include"][str(site)] = "emulator/guide"
