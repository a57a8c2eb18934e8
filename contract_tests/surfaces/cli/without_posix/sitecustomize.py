"""Python imports this at its start if its folder is on the path; it takes POSIX's names away."""

import os
import signal
import sys

# Names that other packages use after they have asked for the platform (os.fchmod in filelock) have
# to stay.
GONE = {
    os: (
        "fork forkpty getegid geteuid getgid getgroups getpgid getpgrp getsid getuid initgroups"
        " killpg lchown mkfifo nice openpty setegid seteuid setgid setpgid setpriority setsid"
        " setuid tcgetpgrp tcsetpgrp ttyname"
    ),
    signal: (
        "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm"
        " getitimer pause pthread_kill pthread_sigmask setitimer sigpending sigwait"
    ),
}

for module, names in GONE.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

# There is no uvloop for Windows.
sys.modules["uvloop"] = None  # type: ignore[assignment]  # how an import is made to fail
