"""``python -m contract_tests.surfaces.node``: the suites of ``docs/examples/node`` under vitest, jest and node:test, and types.

Needs Node 20 with npm, and the network for vitest, jest, Express and TypeScript, which are installed into a folder that
is thrown away.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "docs" / "examples" / "node"

TOOLS = ("vitest@3.2.4", "jest@30.2.0", "express@5.1.0", "typescript@5.9.3", "@types/node@20.19.0")

TSC = ("tsc", "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--types", "node", "types.ts")

SUITES: dict[str, tuple[str, ...]] = {
    "node-test": ("node", "--test"),
    "node-test-app": ("node", "--test"),
    "vitest": ("vitest", "run"),
    "jest": ("jest",),
    ".": TSC,
}
"""A folder of the examples, and the command that is run in it."""


def prepare(root: Path) -> None:
    """Copy the examples and make the module one that they can import."""
    shutil.copytree(EXAMPLES, root, dirs_exist_ok=True)
    shutil.copytree(EXAMPLES / "payments-emulator", root / "node_modules" / "payments-emulator")


def environment(root: Path) -> dict[str, str]:
    """The tests start the emulator by its command; nothing leads them to another one."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    folders = [str(root / "node_modules" / ".bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**own, "PATH": os.pathsep.join(folders)}


def main() -> int:
    """Run every suite; the exit status is the number of those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        npm = shutil.which("npm") or "npm"
        install = [npm, "install", "--silent", "--no-audit", "--no-fund", *TOOLS]
        subprocess.run(install, cwd=root, check=True)
        prepare(root)
        shutil.copy(HERE / "types.ts", root)
        failed = 0
        for name, command in SUITES.items():
            print(f"\n-- {name}: {' '.join(command)}", flush=True)
            failed += subprocess.run(command, cwd=root / name, env=environment(root), check=False).returncode != 0
    print(f"\n{len(SUITES) - failed} of {len(SUITES)} passed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
