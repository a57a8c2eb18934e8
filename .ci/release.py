"""Prepares a release: checks that changelog and stored states are ready for a tag, and sets the version.

python .ci/release.py check v0.2.0           exit status 1, with the reasons, where something is missing
python .ci/release.py set-version v0.2.0     writes the tag's version to emulator/version.py
python .ci/release.py notes v0.2.0           prints the tag's section of the changelog
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

TAG = re.compile(r"v(?P<version>\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")
SECTION = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>.*))?$", re.M)
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def version_of(tag: str) -> str:
    """The version of a tag. Raises ``SystemExit`` for a tag such as ``0.2``."""
    found = TAG.fullmatch(tag)
    if found is None:
        raise SystemExit(f"{tag} is no tag of a release; those are v1.2.3 and v1.2.3rc1")
    return found["version"]


def sections(changelog: str) -> dict[str, tuple[str | None, str]]:
    """Date and text of each section of a changelog, by its version or ``Unreleased``."""
    heads = list(SECTION.finditer(changelog))
    ends = [*(each.start() for each in heads[1:]), len(changelog)]
    return {
        each["name"]: (each["date"], changelog[each.end() : end].strip()) for each, end in zip(heads, ends, strict=True)
    }


def problems(root: Path, version: str) -> Iterator[str]:
    """What is missing for the release of a version."""
    found = sections((root / "CHANGELOG.md").read_text("utf-8"))
    date, text = found.get(version, (None, ""))
    if version not in found:
        yield f"CHANGELOG.md has no section [{version}]"
    elif not DATE.fullmatch(date or ""):
        yield f"CHANGELOG.md: the section [{version}] has no date, such as ' - 2026-11-22'"
    if version in found and not re.search("^- ", text, re.M):
        yield f"CHANGELOG.md: the section [{version}] is empty"
    if re.search("^- ", found.get("Unreleased", (None, ""))[1], re.M):
        yield f"CHANGELOG.md: [Unreleased] has lines that belong to [{version}]"
    if not (root / "contract_tests" / "robustness" / "state" / "golden" / version).is_dir():
        yield f"no state of {version} is stored for upgrade tests: python -m contract_tests.robustness.state.golden"


def set_version(root: Path, version: str) -> None:
    """Write the version to the one place that has it."""
    file = root / "emulator" / "version.py"
    text, count = re.subn(r'^VERSION = ".*"$', f'VERSION = "{version}"', file.read_text("utf-8"), flags=re.M)
    if count != 1:
        raise SystemExit(f"{file} has no line VERSION")
    file.write_text(text, "utf-8")


def main(command: str, tag: str) -> int:
    """Run one command in the current folder; the exit status."""
    root, version = Path.cwd(), version_of(tag)
    if command == "set-version":
        set_version(root, version)
        return 0
    if command == "notes":
        print(sections((root / "CHANGELOG.md").read_text("utf-8"))[version][1])
        return 0
    missing = list(problems(root, version))
    print("\n".join(missing) or f"{version} is ready")
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "set-version", "notes"):
        raise SystemExit(__doc__)
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
