"""The version of the emulator, in one place; pyproject.toml reads it from here."""

VERSION = "0.1.0"
