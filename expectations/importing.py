"""Importing Great Expectations without what it would load and here has no use for.

Spark it loads wherever that is installed. With pyspark 4.3 that takes a second, and ends a process that was started
without a file: its Spark Connect takes such a one for a run of its doctests, and exits.

SciPy's statistics and Altair it loads for three expectations on distributions, two fifths of the time of its import.
They are loaded by the first use of them. `importlib.util.LazyLoader` would load them at once: an import statement looks
at the `__spec__` of what stands there.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

SPARK = "pyspark"
USED_LATER = ("scipy.stats", "altair")
"""The modules that are loaded by the first use of them."""


class Later(ModuleType):
    """A module that is loaded when somebody asks for something that it has."""

    def __getattr__(self, name: str) -> Any:
        """What the module has, once it is loaded; asked what it is, it is none yet."""
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def load_later(*names: str) -> None:
    """Let these modules stand there without being loaded, where they are installed and not loaded already."""
    for name in names:
        if name not in sys.modules and (spec := importlib.util.find_spec(name)):
            sys.modules[name] = Later(name)
            sys.modules[name].__spec__ = spec


@contextmanager
def without_the_unused() -> Generator[None]:
    """Let an import of pyspark fail as it does where there is none, as long as the context lasts, and others wait."""
    load_later(*USED_LATER)
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == SPARK}
    for name in kept:
        del sys.modules[name]
    sys.modules[SPARK] = None  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        del sys.modules[SPARK]
        sys.modules.update(kept)
