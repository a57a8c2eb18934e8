"""The emulator's tests: the claims of its document, its pages and its guide, checked by HTTP."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the checkout."""

if sys.dont_write_bytecode:
    # A run starts hundreds of processes, and each would compile the package again. The cache is a
    # folder of its own, so that there is still no file beside a source.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / ".pytest_cache/bytecode")
    # A process that multiprocessing started has the option without the variable.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
