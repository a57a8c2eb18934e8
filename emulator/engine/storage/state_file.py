"""The file that worlds are stored in: whether it can be one, and whether it is still the same."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from emulator.engine.storage.store import NoStore

MOUNTS = Path("/proc/self/mountinfo")
"""Linux's list of what is mounted; the fifth field of a line is where."""

IN_USE = "another process works on it; stop that one first"

REPLACED = (
    "it was deleted or replaced while the server was using it; changes are rejected until it is"
    " back"
)

Identity = tuple[int, int]
"""The device and the inode of a file, whatever its names are."""


def checked(path: Path, *, to_write: bool = True) -> Path:
    """Return the file behind all links. Raises :class:`NoStore` if it cannot hold worlds."""
    try:
        file = path.resolve()
    except (OSError, RuntimeError):
        raise NoStore(f"{path}: its links lead nowhere") from None
    if not file.parent.is_dir():
        raise NoStore(f"{path}: there is no folder {file.parent}")
    if (problem := _problem(file, to_write=to_write)) is not None:
        raise NoStore(f"{path}: {problem}")
    return file


def _problem(file: Path, *, to_write: bool) -> str | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "is a directory" if stat.S_ISDIR(status.st_mode) else "is not a regular file"
    if to_write and status.st_nlink > 1:
        # The log or the lock beside it would have another name for each of them.
        return f"has {status.st_nlink} names (hard links); a file that worlds are stored in has one"
    if to_write and _is_mounted(file):
        # It cannot be replaced, and its log or its lock would be elsewhere.
        return f"is mounted by itself; mount the folder that has {file.name} in it"
    # The system would let the superuser write to the file.
    return "is read-only" if to_write and not status.st_mode & 0o222 else None


def _is_mounted(file: Path) -> bool:
    if not MOUNTS.exists():
        return os.path.ismount(file)
    places = (
        line.split(" ")[4] for line in MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    )
    return any(
        re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), place) == str(file)
        for place in places
    )


def identity(file: Path) -> Identity | None:
    """Return which file has this name at present; None if none has."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
