"""The emulator's version, which pyproject.toml reads, and how an installation gets an extra."""

VERSION = "0.1.0"


def extra_command(extra: str) -> str:
    """Return the command that adds an extra of the package to this installation, whatever it was
    installed from.
    """
    return f'pip install "payments-emulator[{extra}]"'
