"""The emulator's version, which pyproject.toml reads, its guide, and the command for an extra."""

VERSION = "0.1.0"

GUIDE_URL = ""
"""The root of the published guide; a checkout, whose guide is published nowhere, has none."""


def extra_command(extra: str) -> str:
    """Return the command that adds an extra of the package to this installation, whatever it was
    installed from.
    """
    return f'pip install "payments-emulator[{extra}]"'
