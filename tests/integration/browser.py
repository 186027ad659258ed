"""Headless Chromium without network access beyond this machine, driven over its debugging pipe.

It records the requests, messages and measurements of a page.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BACKGROUNDS = {"light": "rgb(247, 248, 250)", "dark": "rgb(18, 22, 28)"}
"""Color of the background of every page, by color scheme."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """Return the path of Chromium, None if it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Visit:
    """Events that happened while a page was open."""

    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Errors of the console, uncaught errors, and requests that the page's own policy has blocked."""
    messages: list[str] = field(default_factory=list)
    """Text that was received over websockets."""


LEFT = "Inspected target navigated or closed"
"""Chromium's message when the page was left while a command ran in it."""


class LeftError(AssertionError):
    """The page was left for another one while a command ran in it."""


class Browser:
    """Browser with one tab. `send` sends commands; events that arrive in the meantime are recorded in `visit`."""

    def __init__(self, program: str, profile: Path, reachable: str | None = None) -> None:
        """Start the browser; `reachable` is the only host that it can connect to."""
        hosts = "MAP * ~NOTFOUND" + (f", EXCLUDE {reachable}" if reachable else "")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def connect() -> None:
            os.dup2(to_read, 13)
            os.dup2(to_write, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--host-resolver-rules={hosts}", f"--user-data-dir={profile}", "about:blank"],
            close_fds=False,
            preexec_fn=connect,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, None
        self.visit = Visit()
        self._events: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(
            self._write, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if answer.get("error", {}).get("message") == LEFT:
                    raise LeftError(answer)
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url: str, width: int, scheme: str) -> Visit:
        """Open a page at a width in a color scheme and wait until it is loaded."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.use(scheme)
        self.visit, self._events = Visit(), []
        self.send("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._events:
            self._next()
        return self.visit

    def use(self, scheme: str) -> None:
        """Change to a color scheme, also in the page that is open."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page; a promise is awaited."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, to: Path) -> None:
        """Write the content of the tab as PNG."""
        to.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser has ended"
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, event: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.visit.requests.append(event["request"]["url"])
        elif method == "Network.webSocketFrameReceived":
            self.visit.messages.append(event["response"]["payloadData"])
        elif method == "Runtime.exceptionThrown":
            self.visit.problems.append(event["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            self.visit.problems.append(str(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.visit.problems.append(event["entry"]["text"])
