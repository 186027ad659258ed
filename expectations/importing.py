"""Importing Great Expectations without Spark, which it would load wherever it is installed and here has no use for.

With pyspark 4.3 that takes a second, and ends a process that was started without a file: its Spark Connect takes such a
one for a run of its doctests, and exits.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

SPARK = "pyspark"


@contextmanager
def without_spark() -> Generator[None]:
    """Let an import of pyspark fail as it does where there is none, as long as the context lasts."""
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == SPARK}
    for name in kept:
        del sys.modules[name]
    sys.modules[SPARK] = None  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        del sys.modules[SPARK]
        sys.modules.update(kept)
