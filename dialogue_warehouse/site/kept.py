"""Values that are made once: by the first thread that needs one, while threads that need other values continue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Made = TypeVar("Made")


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_made: bool = False
    value: Any = None


class Kept:
    """Values by name. What makes a value may ask for others, but not for itself."""

    def __init__(self, most: int | None = None) -> None:
        """Keep up to `most` values; when there are more, the one that was not read for the longest time is dropped."""
        self._most = most
        self._lock = threading.Lock()
        self._entries: dict[Any, _Entry] = {}

    def get(self, name: Any, make: Callable[[], Made]) -> Made:
        """Return the value of this name, or make it. If that fails, the next thread that asks makes it."""
        with self._lock:
            entry = self._entries[name] = self._entries.pop(name, None) or _Entry()
            while self._most is not None and len(self._entries) > self._most:
                del self._entries[next(iter(self._entries))]
        with entry.lock:
            if not entry.is_made:
                entry.value = make()
                entry.is_made = True
            return entry.value
