"""Chat messages as Parquet with Hugging Face `datasets`, in two ways, from the JSON Lines of an export.

`python -m tests.benchmarks.peers.export_with_datasets FOLDER TO --way WAY` prints the rows and the version as JSON.
Both ways know the columns, as `dialogue-warehouse export --form huggingface` does.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import datasets

TEXT = datasets.Value("string")
FEATURES = datasets.Features(
    {
        "id": TEXT,
        "messages": datasets.List(datasets.Json()),
        "tools": datasets.List(datasets.Json()),
        "source": {
            "corpus_id": TEXT,
            "split": TEXT,
            "dialogue_key": TEXT,
            "turn_keys": datasets.List(datasets.List(TEXT)),
        },
    }
)


def generate(path: str) -> Iterator[dict[str, Any]]:
    """Yield the examples of a file."""
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123 the path is text, because it is hashed
        yield from map(json.loads, stream)


def read(path: Path, way: str, cache: str) -> datasets.Dataset:
    """Return the examples of a file."""
    if way == "load_dataset":
        return datasets.load_dataset("json", data_files=str(path), split="train", features=FEATURES, cache_dir=cache)
    return datasets.Dataset.from_generator(
        generate, FEATURES, gen_kwargs={"path": str(path)}, cache_dir=cache, num_proc=None
    )


def main() -> None:
    """Write every file of a folder as Parquet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("to", type=Path)
    parser.add_argument("--way", choices=("from_generator", "load_dataset"), required=True)
    given = parser.parse_args()
    datasets.disable_progress_bars()
    rows = 0
    with tempfile.TemporaryDirectory() as cache:
        for path in sorted(given.folder.glob("*/*.jsonl")):
            examples = read(path, given.way, cache)
            to = given.to / path.parent.name / f"{path.stem}.parquet"
            to.parent.mkdir(parents=True, exist_ok=True)
            examples.to_parquet(str(to))
            rows += len(examples)
    print(json.dumps({"rows": rows, "version": datasets.__version__}))


if __name__ == "__main__":
    main()
