"""Stand-in for a forked program: `python -IS tests/launch.py SOCKET` has the program's streams, and ends as it does.

Ending this process ends the program. It imports very few modules, because it is started for each audit.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable

SECONDS = 300
"""Seconds after which a server that does not start is given up."""


def connect(path: str, is_alive: Callable[[], bool] = lambda: True) -> socket.socket:
    """Return a connection to the server, as soon as its libraries are imported. Raises OSError without a server."""
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
