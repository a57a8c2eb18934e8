"""Hatch's hook: makes bundled OpenAPI documents, the guide's site, copies of library parts."""

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
        """Write both into the tree. A checkout installed as is makes its bundles on first use."""
        if version == "editable":
            # A checkout has no copies of libraries, so it needs the libraries themselves.
            build_data["dependencies"] = [
                each.distribution for each in self._libraries().libraries(())
            ]
            return
        self._bundle()
        if self.target_name == "wheel":
            build_data["force_include"][str(self._site())] = "emulator/guide"
            build_data["force_include"][str(self._copies())] = "emulator/vendor"

    def _bundle(self) -> None:
        # The package that is being built is not installed.
        sys.path.insert(0, self.root)
        from emulator.document.bundles import write_bundles

        write_bundles()

    def _libraries(self) -> Any:
        # Hatch loads this file alone, without its neighbours.
        sys.path.insert(0, str(Path(self.root, "docs")))
        import libraries

        return libraries

    def _copies(self) -> Path:
        from emulator.presentation.languages.catalogs import languages

        copies = Path(self.root, "build", "vendor")
        self._libraries().copy_libraries(copies, languages())
        return copies

    def _site(self) -> Path:
        # MkDocs says by its logger alone why it stops.
        logging.basicConfig(level=logging.WARNING)
        site = Path(self.root, "build", "guide")
        build(
            load_config(str(Path(self.root, "docs", "mkdocs.yml")), site_dir=str(site), strict=True)
        )
        for each in site.rglob("*"):
            # Debuggers and browsers of long ago ask for these; the theme brings them.
            if each.suffix in (".map", ".ttf"):
                each.unlink()
        return site
