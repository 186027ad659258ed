"""`python -m dialogue_warehouse` is the command `dialogue-warehouse`."""

from __future__ import annotations

from dialogue_warehouse import environment


def run() -> None:
    """Put the process in order, then run the command."""
    environment.prepare()
    from dialogue_warehouse.cli import main

    main.run()


if __name__ == "__main__":
    run()
