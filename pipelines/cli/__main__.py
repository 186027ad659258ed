"""`python -m pipelines.cli` is the command `dialogue-warehouse`."""

from pipelines.cli.main import run

run()
