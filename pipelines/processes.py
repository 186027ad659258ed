"""How a child process of ours lives: no longer than its parent, and deaf to the Ctrl-C that its parent answers."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

SET_SIGNAL_OF_PARENTS_DEATH = 1
"""`PR_SET_PDEATHSIG` of Linux's prctl(2)."""


def end_with_parent(parent: int) -> None:
    """Let this process end when its parent does, however that ends. `parent` is the parent's id.

    On Linux at once; elsewhere when this process next reads from its parent. Ctrl-C reaches every process of a
    terminal: the parent decides what it means and ends its children.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this process could ask to be told
        os._exit(1)
