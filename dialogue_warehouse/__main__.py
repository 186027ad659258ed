"""Run the command `dialogue-warehouse` with `python -m dialogue_warehouse`."""

from __future__ import annotations

from dialogue_warehouse import environment


def run() -> None:
    """Prepare the process, then run the command."""
    environment.prepare()
    from dialogue_warehouse.cli import main

    main.run()


if __name__ == "__main__":
    run()
