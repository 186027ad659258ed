"""What a list of known defects says: the rules behind `quality.violations`, and how far each can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pipelines.corpora.declarations import DeclarationError, Text, convert, label_of, refuse_duplicates

RuleKind = Literal["defect", "property"]
"""Whether a rule's cases are faults, or odd by the publisher's design."""
ENOUGH_READ = 20
"""Cases of a defect that are read before its precision is told; all where there are fewer."""


@dataclass(frozen=True)
class Defect:
    """A known fault or oddity of a release, each case of which is a row of `quality.violations`."""

    rule_id: str
    kind: RuleKind
    corpus_id: str | None
    """None for a rule that holds for every corpus."""
    title: str
    description: str
    upstream: str | None
    """The thread where users reported it."""
    expected: int | None
    """How many cases the complete release has."""
    files: tuple[str, ...]
    why: str
    cases_read: int | None
    """Cases that were read in the real files, with what stands around them; None where there was none."""
    cases_right: int | None


class _Precision(Struct, forbid_unknown_fields=True):
    """How many cases of a defect were read, and how many of them are right."""

    read: Annotated[int, Meta(ge=1)]
    right: Annotated[int, Meta(ge=0)]


class _DefectEntry(Struct, forbid_unknown_fields=True, kw_only=True):
    """An entry of `[[defects]]`."""

    id: Text
    kind: RuleKind = "defect"
    title: Text
    description: Text
    why: Text
    upstream: Text | None = None
    expected: int | None = None
    files: list[Text] = []
    precision: _Precision | None = None


def read_defects(place: str, corpus_id: str | None, entries: list[Any]) -> tuple[Defect, ...]:
    """The known defects that a list says, checked; `place` names its file. Raises DeclarationError."""
    read = [convert(place, label_of(entry), entry, _DefectEntry) for entry in entries]
    for entry in read:
        if problem := _precision_problem(entry):
            raise DeclarationError(f"{place} {entry.id}: {problem}")
    refuse_duplicates(place, "id", [entry.id for entry in read])
    return tuple(
        Defect(
            rule_id=entry.id,
            kind=entry.kind,
            corpus_id=corpus_id,
            title=entry.title,
            description=entry.description,
            upstream=entry.upstream,
            expected=entry.expected,
            files=tuple(entry.files),
            why=entry.why,
            cases_read=entry.precision.read if entry.precision else None,
            cases_right=entry.precision.right if entry.precision else None,
        )
        for entry in read
    )


def _precision_problem(defect: _DefectEntry) -> str | None:
    if defect.precision is None:
        return None
    read, right = defect.precision.read, defect.precision.right
    if defect.kind == "property":
        return "'precision' belongs to a defect: a case of a property is one by definition"
    if right > read:
        return f"'precision' has {right} right cases of {read}"
    needed = min(ENOUGH_READ, defect.expected or 1)
    return f"'precision' needs {needed} cases read, not {read}" if read < needed else None
