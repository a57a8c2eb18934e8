"""Hatch's hook: what is made for a distribution, the bundled OpenAPI documents and the guide as a site."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from mkdocs.commands.build import build
from mkdocs.config import load_config


class BuildHook(BuildHookInterface[Any]):
    """Makes them before the files of a wheel or of a source distribution are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Both are written into the tree. A checkout that is installed as it stands makes its bundles on first use."""
        if version == "editable":
            return
        self._bundle()
        if self.target_name == "wheel":
            build_data["force_include"][str(self._site())] = "emulator/guide"

    def _bundle(self) -> None:
        # The package that is being built is not installed.
        sys.path.insert(0, self.root)
        from emulator.document.bundles import write_bundles

        write_bundles()

    def _site(self) -> Path:
        # MkDocs says by its logger alone why it stops.
        logging.basicConfig(level=logging.WARNING)
        site = Path(self.root, "build", "guide")
        build(load_config(str(Path(self.root, "docs", "mkdocs.yml")), site_dir=str(site), strict=True))
        return site
