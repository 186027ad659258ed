"""A verification as the user sees it: a row a corpus, or all files as JSON."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict

from rich import box
from rich.table import Table

from pipelines.proving.verifying import Verified
from pipelines.reading.printing import make_console


def print_results(results: list[Verified], as_json: bool) -> None:
    """Print a row a corpus, or all results as JSON."""
    if as_json:
        print(json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1))
        return
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("corpus")
    for name in ("files", "records", "equal"):
        grid.add_column(name, justify="right")
    for corpus_id, own in itertools.groupby(results, key=lambda result: result.source_file_id.split("/")[0]):
        files = list(own)
        counts = len(files), sum(file.records for file in files), sum(file.is_equal for file in files)
        grid.add_row(corpus_id, *(f"{count:,}" for count in counts))
    make_console().print(grid)
