"""A command that the user names, run to its end with what it prints captured."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence


def run_captured(
    command: Sequence[str], variables: Mapping[str, str], time_limit: float | None = None
) -> tuple[int, str]:
    """The exit status and the output, errors included. ``variables`` join the environment. Raises ``OSError``.

    A command that takes longer than ``time_limit`` seconds is killed, and ``subprocess.TimeoutExpired`` raised.
    """
    # As in exec itself: on Windows npm, for example, is npm.cmd.
    found = (shutil.which(command[0]) or command[0], *command[1:])
    # Running what the user names is the purpose of its callers.
    ended = subprocess.run(  # noqa: S603  # see above
        found,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=time_limit,
    )
    return ended.returncode, ended.stdout.decode(errors="replace")
