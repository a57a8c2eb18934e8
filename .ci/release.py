"""Prepares a release: checks that the changelog is ready for a tag, and writes what depends on it.

python .ci/release.py check v0.2.0                     exit status 1, with the reasons, where
something is missing python .ci/release.py stamp v0.2.0 OWNER/NAME          writes the tag's
version, and the repository in place of placeholders python .ci/release.py notes v0.2.0
prints the tag's section of the changelog
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
    """Return the version of a tag. Raises ``SystemExit`` for a tag such as ``0.2``."""
    found = TAG.fullmatch(tag)
    if found is None:
        raise SystemExit(f"{tag} is no tag of a release; those are v1.2.3 and v1.2.3rc1")
    return found["version"]


def sections(changelog: str) -> dict[str, tuple[str | None, str]]:
    """Date and text of each section of a changelog, by its version or ``Unreleased``."""
    heads = list(SECTION.finditer(changelog))
    ends = [*(each.start() for each in heads[1:]), len(changelog)]
    return {
        each["name"]: (each["date"], changelog[each.end() : end].strip())
        for each, end in zip(heads, ends, strict=True)
    }


def problems(root: Path, version: str) -> Iterator[str]:
    """Return the reasons why a version cannot be released."""
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


NPM = "docs/examples/node/payments-emulator/package.json"
"""The package for Node."""

VERSIONS = {
    "emulator/version.py": r'(?<=^VERSION = ").*(?="$)',
    NPM: r'(?<=^  "version": ").*(?=",$)',
    "server.json": r'(?<="version": ").*(?=",$)',
}
"""Where a version stands, as a pattern."""

PLACEHOLDERS = {
    "https://git.example.com/team/payments-emulator": "https://github.com/{repository}",
    "io.github.example/payments-emulator": "io.github.{repository}",
    'example/payments-emulator@v1   # replace "example" with the owner of your copy': (
        "{repository}@v{major}"
    ),
    "ghcr.io/example/payments-emulator:1": "ghcr.io/{image}:{major}",
    "include: [payments-emulator.gitlab-ci.yml]": (
        'include: [{{remote: "https://raw.githubusercontent.com/{repository}/v{major}/'
        'docs/examples/gitlab/payments-emulator.gitlab-ci.yml"}}]'
    ),
    "export PATH=$PWD/.venv/bin:$PATH PAYMENTS": "export PAYMENTS",
    "pip install ../payments-emulator pytest      # a clone": (
        "pip install payments-emulator pytest"
    ),
    'GUIDE_URL = ""': 'GUIDE_URL = "https://{owner}.github.io/{name}/"',
    '"package": ""': '"package": "payments-emulator=={version}"',
    '"image": "payments-emulator"': '"image": "ghcr.io/{image}:{version}"',
}
"""What stands in a checkout for the repository and the release, and what becomes of it."""

STAMPED = (
    *("pyproject.toml", "emulator/version.py", "README.md", "server.json", NPM),
    "docs/guide/*.md",
)
"""Files that have placeholders."""

RELEASED = re.compile(r"<!-- unreleased -->\n.*?<!-- released\n(?P<text>.*?)-->\n", re.S)
"""A page's text in a checkout and, in a comment, its text once packages and an image exist."""

LOCAL = {
    r"\]\((?!https?:|#)": "](https://github.com/{repository}/blob/v{version}/",
    r'(src|srcset)="(?!https?:)': r'\1="https://github.com/{repository}/raw/v{version}/',
}
"""The start of the README's links and pictures: here, and on a package index (README only)."""


def stamp(root: Path, version: str, repository: str) -> None:
    """Write the version and the repository to every place that has them."""
    for name, pattern in VERSIONS.items():
        # Semantic versioning writes 1.2.3rc1 as 1.2.3-rc.1.
        written = re.sub(r"(a|b|rc)(\d+)$", r"-\1.\2", version) if name == NPM else version
        text, count = re.subn(pattern, written, (root / name).read_text("utf-8"), flags=re.M)
        if not count:
            raise SystemExit(f"{name} has no version")
        (root / name).write_text(text, "utf-8")
    values = {
        "repository": repository,
        "image": repository.lower(),
        "owner": repository.partition("/")[0].lower(),
        "name": repository.partition("/")[2],
        "version": version,
        "major": version.partition(".")[0],
    }
    for file in (file for pattern in STAMPED for file in root.glob(pattern)):
        text = RELEASED.sub(r"\g<text>", file.read_text("utf-8"))
        for placeholder, meant in PLACEHOLDERS.items():
            text = text.replace(placeholder, meant.format(**values))
        file.write_text(text, "utf-8")
    text = (root / "README.md").read_text("utf-8")
    for local, meant in LOCAL.items():
        text = re.sub(local, meant.format(**values), text)
    (root / "README.md").write_text(text, "utf-8")


def main(command: str, tag: str, repository: str = "") -> int:
    """Run one command in the current folder; the exit status."""
    root, version = Path.cwd(), version_of(tag)
    if command == "stamp":
        stamp(root, version, repository)
        return 0
    if command == "notes":
        print(sections((root / "CHANGELOG.md").read_text("utf-8"))[version][1])
        return 0
    missing = list(problems(root, version))
    print("\n".join(missing) or f"{version} is ready")
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) != {"check": 3, "stamp": 4, "notes": 3}.get("".join(sys.argv[1:2])):
        raise SystemExit(__doc__)
    raise SystemExit(main(*sys.argv[1:]))
