"""The command, also where PYTHONPATH leads to another package that is named ``emulator``."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run the command of the package that is beside this module, or in a checkout around it."""
    place = HERE if (HERE / "emulator").is_dir() else HERE.parents[1]
    sys.path.insert(0, str(place))
    import emulator  # noqa: F401  # its parts are looked for where it is

    del sys.path[0]
    from emulator.cli.main import main

    main()
