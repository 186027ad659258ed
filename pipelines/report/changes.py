"""What is different from the build before, in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from pipelines.reading.keyed_rows import Row


def describe_changes(build: Row, before: Row, suites: Mapping[str, list[Row]]) -> list[str]:
    """What is different from the build before, a sentence each."""
    told = []
    for name in ("source", "corpora", "code_version"):
        if build[name] != before[name]:
            told.append(f"{name.replace('_', ' ')}: {build[name]}, before {before[name]}")
    for name in ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count"):
        difference = (build[name] or 0) - (before[name] or 0)
        if difference:
            noun = name.removesuffix("_count").replace("_", " ")
            told.append(f"{noun}s: {build[name] or 0:,}, {difference:+,}")
    kinds: dict[str, list[str]] = defaultdict(list)
    for suite, expectations in suites.items():
        for entry in expectations:
            earlier, now = entry["history"][-2:]
            kind = _outcome_change(earlier, now)
            if kind:
                kinds[kind].append(f"{suite}: {entry['expectation']}")
    for kind, names in sorted(kinds.items()):
        first = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        told.append(f"{len(names)} expectation{'' if len(names) == 1 else 's'} {kind}: {first}")
    return told


def _outcome_change(earlier: Row | None, now: Row | None) -> str | None:
    if earlier is None or now is None:
        return None if earlier is now else "new" if now else "no longer judged"
    if earlier["success"] != now["success"]:
        return "now pass" if now["success"] else "no longer pass"
    return "with another observed value" if earlier["observed"] != now["observed"] else None
