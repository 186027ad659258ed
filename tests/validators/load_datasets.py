"""Open an exported folder with `datasets`, and compare its rows with the lines of the same export as JSON Lines.

`python load_datasets.py FOLDER LINES PREFERENCES` prints a JSON object: the rows of each config and split, the rows that
differ from the line with the same number, and the columns of the files with preferences.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets

STR = "_str"
"""The end of the name of a config with texts."""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the examples of a file."""
    with path.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as its line has it: with the values of texts, and without a key that has no value."""
    values = {key: json.loads(value) if key != "id" and isinstance(value, str) else value for key, value in row.items()}
    return {key: value for key, value in values.items() if value is not None or key != "tools"}


def compare(folder: str, config: str | None, expected: dict[str, list[dict[str, Any]]], cache: str) -> dict[str, Any]:
    """Open a config at once and as a stream, and return its rows by split and the ids of rows that differ."""
    loaded = datasets.load_dataset(folder, config, cache_dir=cache)
    streamed = datasets.load_dataset(folder, config, streaming=True)
    different = [
        row["id"]
        for opened in (loaded, streamed)
        for split, examples in expected.items()
        for row, example in zip(opened[split], examples, strict=True)
        if plain(row) != example
    ]
    return {"rows": {split: len(rows) for split, rows in loaded.items()}, "different": different}


def main(folder: str, lines_folder: Path, preferences: Path) -> dict[str, Any]:
    """Return what `datasets` makes of the files."""
    expected: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for path in sorted(lines_folder.glob("*/*.jsonl")):
        examples = list(lines(path))
        for config in (path.parent.name, "all") if examples else ():
            expected.setdefault(config, {}).setdefault(path.stem, []).extend(examples)
    with tempfile.TemporaryDirectory() as cache:
        configs = datasets.get_dataset_config_names(folder)
        found = {config: compare(folder, config, expected[config.removesuffix(STR)], cache) for config in configs}
        default = datasets.load_dataset(folder, cache_dir=cache)
        opened = {
            path.relative_to(preferences).as_posix(): datasets.load_dataset(
                "json", data_files=str(path), split="train", cache_dir=cache
            )
            for path in sorted(preferences.glob("*/*/*.jsonl"))
        }
        return {
            "configs": found,
            "default": {split: len(rows) for split, rows in default.items()},
            "preferences": {
                path: {"columns": sorted(rows.column_names), "rows": len(rows), "first": rows[0]}
                for path, rows in opened.items()
            },
        }


if __name__ == "__main__":
    datasets.disable_progress_bars()
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
