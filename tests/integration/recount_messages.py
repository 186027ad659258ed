"""Print the chat messages that exports must have, from the files of the releases: `recount_messages.py RELEASES`.

The second readings, `messages.py` of the fixtures, run here in a process that imports nothing of the project.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

CLONE = Path(__file__).parents[2]
PROJECT = ("dialogue_warehouse", "pipelines", "expectations")


def load(path: Path) -> ModuleType:
    """Return a module by its file, because the packages above it import the project."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_messages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(releases: Path) -> None:
    """Print the messages of each example, by corpus."""
    sys.path.insert(0, str(CLONE))
    readings = {path.parent.name: path for path in sorted((CLONE / "tests" / "fixtures").glob("*/messages.py"))}
    found = {
        corpus_id: load(path).messages(releases / corpus_id)
        for corpus_id, path in readings.items()
        if (releases / corpus_id).is_dir()
    }
    imported = [name for name in sys.modules if name.partition(".")[0] in PROJECT]
    assert imported == []
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
