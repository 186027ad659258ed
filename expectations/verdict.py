"""The words for what a claim comes to. Light, for whoever only lists them; `expectations.verdicts` decides."""

from __future__ import annotations

from typing import Literal, get_args

Verdict = Literal["reproduced", "refuted", "source_absent", "not_checkable"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
