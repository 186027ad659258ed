"""The words for what a claim comes to. Light, for whoever only lists them; `expectations.verdicts` decides."""

from __future__ import annotations

from typing import Literal, get_args

Verdict = Literal["reproduced", "refuted", "vacuous", "source_absent", "not_checkable"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
JudgedOn = Literal["published", "generated"]
"""Whether the files that a verdict was given on are the publisher's or were made by this project."""
