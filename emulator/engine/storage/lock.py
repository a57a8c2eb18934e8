"""The lock on a state file: one process at a time uses it, and the system frees it when that process ends."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from emulator.engine.storage.store import CorruptStore


def lock_file(path: Path) -> FileLock:
    """Lock ``FILE.lock`` beside the file itself, whatever links lead to it.

    Raises :class:`CorruptStore` if it cannot be locked, is locked already, or has other names that are no links to it.
    """
    try:
        file = path.resolve()
    except (OSError, RuntimeError):
        raise CorruptStore(f"{path}: its links lead nowhere") from None
    if not file.parent.is_dir():
        raise CorruptStore(f"{path}: there is no folder {file.parent}")
    lock = FileLock(f"{file}.lock", mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise CorruptStore(f"{path}: another process works on it") from None
    except OSError as error:
        raise CorruptStore(f"{path}: cannot be locked: {error.strerror or error}") from None
    if (problem := _problem(file)) is not None:
        lock.release()
        raise CorruptStore(f"{path}: {problem}")
    return lock


def _problem(file: Path) -> str | None:
    """Why worlds cannot be stored in a file of this name; None if they can, or there is none yet."""
    if file.is_dir():
        return "is a directory"
    if not file.exists():
        return None
    found = file.stat()
    if found.st_nlink > 1:
        # By another of them it would be another file, with a lock of its own.
        return f"has {found.st_nlink} names (hard links); a file that worlds are stored in has one"
    # The system would let the superuser write to the file.
    return None if found.st_mode & 0o222 else "is read-only"
