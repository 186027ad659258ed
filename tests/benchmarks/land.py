"""Land alone, in a separate process: in a build, landing runs in parallel with imports, and its lines include waiting.

`python -m tests.benchmarks.land SOURCE --warehouse FOLDER` lands every release below SOURCE and prints the seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import finding
from dialogue_warehouse.settings import Settings
from pipelines.ingestion.lander import Lander


def main() -> None:
    """Print a JSON object: seconds and files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--warehouse", type=Path, required=True, help="an empty folder: what was landed is kept there")
    parser.add_argument("--corpora", type=lambda text: tuple(text.split(",")))
    options = parser.parse_args()
    settings = Settings.from_environment(source=options.source, warehouse=options.warehouse, only=options.corpora)
    paths = WarehousePaths(settings.warehouse)
    started = time.perf_counter()
    found = [finding.find(corpus, settings, paths) for corpus in registry.load_corpora(settings.only)]
    with Lander(paths.raw, settings) as lander:
        lander.start(found)
        landed = [file for release in found for file in lander.land(release)]
    print(json.dumps({"seconds": time.perf_counter() - started, "files": len(landed)}))


if __name__ == "__main__":
    main()
