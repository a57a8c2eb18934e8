"""The lock on a file of worlds: one process at a time works on it, and the system frees it when that process ends."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from emulator.state.store import CorruptStore


def lock_file(path: Path) -> FileLock:
    """Lock ``FILE.lock`` beside the file. Raises :class:`BrokenState` where another process has it, or none can."""
    if not path.parent.is_dir():
        raise CorruptStore(f"{path}: there is no folder {path.parent}")
    lock = FileLock(f"{path}.lock", mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise CorruptStore(f"{path}: another process works on it") from None
    except OSError as fault:
        raise CorruptStore(f"{path}: cannot be locked: {fault.strerror or fault}") from None
    if path.is_dir():
        lock.release()
        raise CorruptStore(f"{path}: is a directory")
    if path.exists() and not path.stat().st_mode & 0o222:
        # Said to the superuser as well, to whom the system would not say it.
        lock.release()
        raise CorruptStore(f"{path}: is read-only")
    return lock
