"""`python -m pipelines.cli` is the command `dialogue-warehouse`."""

from dialogue_warehouse.__main__ import run

run()
