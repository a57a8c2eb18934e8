"""The lock on a state file: one process at a time uses it, and the system frees it when that process ends."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from emulator.state.store import CorruptStore


def lock_file(path: Path) -> FileLock:
    """Lock ``FILE.lock`` beside the file. Raises :class:`CorruptStore` if it cannot be locked, or is locked already."""
    if not path.parent.is_dir():
        raise CorruptStore(f"{path}: there is no folder {path.parent}")
    lock = FileLock(f"{path}.lock", mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise CorruptStore(f"{path}: another process works on it") from None
    except OSError as error:
        raise CorruptStore(f"{path}: cannot be locked: {error.strerror or error}") from None
    if path.is_dir():
        lock.release()
        raise CorruptStore(f"{path}: is a directory")
    if path.exists() and not path.stat().st_mode & 0o222:
        # The system would let the superuser write to the file.
        lock.release()
        raise CorruptStore(f"{path}: is read-only")
    return lock
