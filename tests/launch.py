"""Stands for a program that is forked: `python -IS tests/launch.py SOCKET` has the program's streams, and ends as it does.

Whoever ends this process ends the program. It imports next to nothing: it is started for each audit.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable

SECONDS = 300
"""After which a server that does not begin is given up."""


def connect(path: str, is_alive: Callable[[], bool] = lambda: True) -> socket.socket:
    """A connection to the server, as soon as its libraries are imported. Raises OSError when none can be had."""
    end = time.monotonic() + SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            if not is_alive() or time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    server = connect(sys.argv[1])
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps([[], dict(os.environ)]).encode() + b"\n")
    os.close(0)
    os.close(1)
    status = int(server.makefile().read())
    os._exit(status if status >= 0 else 128 - status)
