"""Lint every piece of SQL in the clone: `python -m tests.lint [FILE ...]`, as `make lint` does.

Prints one line per finding, FILE:LINE:COLUMN: CODE MESSAGE, and exits with status 1 if there are any. If files are
named, only their SQL is linted; for a file of dbt's macros, every model that may call them is linted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.lint.run import lint

CLONE = Path(__file__).resolve().parents[2]


def main() -> int:
    """Lint, print the findings, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.lint", description=__doc__.partition("\n\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="lint only these (default: all SQL)")
    parser.add_argument("--root", type=Path, default=CLONE, help="the clone to lint (default: this one)")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    for file in arguments.files:
        if not (file.is_file() and file.resolve().is_relative_to(root)):
            parser.error(f"not a file of the clone: {file}")
    findings = lint(root, {file.resolve().relative_to(root).as_posix() for file in arguments.files})
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
