"""The page of dialogues: the list that a URL asks for, its filters with counts, and the dialogue beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.datastructures import QueryParams

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import dialogues, search
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.dialogue_parts import Dialogue
from dialogue_warehouse.reading.dialogue_queries import asked, parameters_of
from dialogue_warehouse.reading.dialogue_rows import Found, read_found
from dialogue_warehouse.reading.findings import read_rows
from dialogue_warehouse.reading.search import Index, Pieces, place_of
from dialogue_warehouse.site import rendering
from dialogue_warehouse.site.paging import ROWS, Paging, address, number, paged
from dialogue_warehouse.site.published import Build
from dialogue_warehouse.storage.search_index import KINDS, TURN_BITS

ORDERS = {
    "published": "as published",
    "best": "best hit first",
    "longest": "longest first",
    "shortest": "shortest first",
    "defects": "most defects first",
    "oldest": "oldest first",
    "newest": "newest first",
}
"""The orders of the list, and their names on the page."""


@dataclass(frozen=True)
class Wanted:
    """The state of the page, as its URL has it."""

    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    said: str = ""
    order: str = "published"
    page: int = 0
    """The part of the list; 0 is the one with the open dialogue, else the first one."""
    key: str = ""
    against: str = ""
    """The key of the dialogue with which the open one is compared."""

    def parameters(self) -> list[tuple[str, object]]:
        """Return the parameters of the URL."""
        labels = [(kind, label) for kind in KINDS for label in self.labels.get(kind, ())]
        default = "best" if self.said else "published"
        order = "" if self.order == default else self.order
        return [
            *labels,
            ("said", self.said),
            ("order", order),
            ("page", self.page or ""),
            ("key", self.key),
            ("against", self.against),
        ]

    def address(self, at: str = "", **changes: Any) -> str:
        """Return the URL of the page with these changes."""
        return address("dialogues", replace(self, **changes).parameters(), at)

    def toggled(self, kind: str, label: str) -> str:
        """Return the URL with this label added, or without it if it is chosen."""
        chosen = self.labels.get(kind, ())
        now = tuple(one for one in chosen if one != label) if label in chosen else (*chosen, label)
        return self.address(labels=self.labels | {kind: now}, page=0, key="", against="")


def wanted_by(parameters: QueryParams) -> Wanted:
    """Read the state of the page from its URL."""
    said = parameters.get("said", "").strip()
    order = parameters.get("order", "")
    default = "best" if said else "published"
    return Wanted(
        labels={kind: tuple(dict.fromkeys(filter(None, parameters.getlist(kind)))) for kind in KINDS},
        said=said,
        order=order if order in ORDERS and (said or order != "best") else default,
        page=number(parameters["page"]) if "page" in parameters else 0,
        key=parameters.get("key", "").strip(),
        against=parameters.get("against", "").strip(),
    )


@dataclass(frozen=True)
class Matches:
    """The dialogues that match, in their order."""

    numbers: Sequence[int]
    chosen: dict[str, int]
    """By kind, the set of dialogues that match everything but the labels of this kind: the counts beside its labels."""
    places: dict[int, int] = field(default_factory=dict)
    """The best hit in each dialogue."""
    hits: int | None = None
    """Number of utterances that match; None if no words are searched."""
    is_ranked: bool = True


def match(index: Index, wanted: Wanted) -> Matches:
    """Find and order the dialogues. Raises InputError if the words cannot be searched."""
    said, places, hits, is_ranked = index.all, {}, None, True
    if wanted.said:
        found = index.find(wanted.said)
        said, places, is_ranked = found.dialogues, found.first, found.is_ranked
    labels = {kind: chosen for kind, chosen in wanted.labels.items() if chosen}
    numbers = search.numbers_of(said & index.labelled(labels))
    if wanted.said:
        among = set(numbers)
        hits = sum(place >> TURN_BITS in among for place in found.places) if labels else len(found.places)
    chosen = {
        kind: said & index.labelled({other: some for other, some in labels.items() if other != kind}) for kind in KINDS
    }
    if wanted.order != "best":
        ordered = _ordered(index, numbers, wanted.order)
    elif is_ranked:
        ordered = [one for one in dict.fromkeys(place >> TURN_BITS for place in found.places) if one in among]
    else:  # the places are those of publication, as the numbers
        ordered = numbers
    return Matches(ordered, chosen, places, hits, is_ranked)


def _ordered(index: Index, numbers: Sequence[int], order: str) -> Sequence[int]:
    known = index.dialogues
    if order in ("longest", "shortest"):
        return sorted(numbers, key=lambda one: known[one].turn_count, reverse=order == "longest")
    if order == "defects":
        return sorted(numbers, key=lambda one: -known[one].defect_count)
    if order in ("oldest", "newest"):
        dated = [one for one in numbers if known[one].began]
        dated.sort(key=lambda one: known[one].began or "", reverse=order == "newest")
        return dated + [one for one in numbers if not known[one].began]
    return numbers


@dataclass(frozen=True)
class Line:
    """A dialogue in the list."""

    key: str
    address: str
    pieces: Pieces
    """Its best hit, or its first utterance."""
    turn: int | None
    turn_count: int
    defect_count: int
    began: str | None
    task: str | None
    is_open: bool


FIRST = f"""
    select
        dialogue_key,
        min(turn_index) as turn_index,
        arg_min(left(utterance, 400), turn_index) as utterance
    from core.fct_turns
    where {asked()} and utterance is not null and turn_index < 1 << {TURN_BITS}
    group by dialogue_key
"""


@dataclass(frozen=True)
class Texts:
    """The texts of a part of the list, by the numbers of its dialogues."""

    tasks: dict[int, str]
    """The task of each that has one."""
    turns: dict[int, int]
    """The turn of the best hit, or of the first utterance."""
    pieces: dict[int, Pieces]
    """The text of this turn."""


def read_texts(con: Connection, index: Index, said: str, places: dict[int, int], numbers: Sequence[int]) -> Texts:
    """Read the best hits of these dialogues, or their first utterances."""
    if not numbers:
        return Texts({}, {}, {})
    tasks = index.label_of_each("task", numbers)
    if places:
        found = search.read_utterances(con, index, [places[one] for one in numbers])
        texts = {place >> TURN_BITS: (place_of(place)[1], text) for place, (_, text) in found.items()}
        pieces = dict(zip(texts, search.mark([text for _, text in texts.values()], said), strict=True))
    else:
        keys = [index.dialogues[one].key for one in numbers]
        first = {row["dialogue_key"]: row for row in read_rows(con, FIRST, parameters_of(keys))}
        texts = {
            one: (row["turn_index"], row["utterance"])
            for one, key in zip(numbers, keys, strict=True)
            if (row := first.get(key))
        }
        pieces = {one: [(text, False)] for one, (_, text) in texts.items()}
    return Texts(tasks, {one: turn for one, (turn, _) in texts.items()}, pieces)


def lines(index: Index, wanted: Wanted, matches: Matches, numbers: Sequence[int], texts: Texts) -> list[Line]:
    """Return the lines of these dialogues."""
    found = []
    for one in numbers:
        known = index.dialogues[one]
        turn = texts.turns.get(one)
        at = f"turn-{turn}" if matches.places and turn is not None else ""
        opened = wanted.address(at, key=known.key, page=0)
        is_open = wanted.key == known.key or wanted.key.startswith(f"{known.key}/")
        found.append(
            Line(
                known.key,
                opened,
                texts.pieces.get(one, []),
                turn,
                known.turn_count,
                known.defect_count,
                known.began,
                texts.tasks.get(one),
                is_open,
            )
        )
    return found


def facets(index: Index, wanted: Wanted, matches: Matches) -> dict[str, list[dict[str, Any]]]:
    """Return the labels of each kind with their counts, the most frequent first; kinds without a choice are empty."""
    found, others = {}, wanted.address(page=0, key="", against="")
    for kind in KINDS:
        chosen = wanted.labels.get(kind, ())
        counts = index.counts(kind, matches.chosen[kind]) | {
            label: 0 for label in chosen if label not in index.counts(kind, matches.chosen[kind])
        }
        ordered = sorted(counts.items(), key=lambda pair: (pair[0] not in chosen, -pair[1], pair[0]))
        found[kind] = [
            {
                "label": label,
                "count": count,
                "is_chosen": label in chosen,
                "address": wanted.toggled(kind, label) if label in chosen else address(others, [(kind, label)]),
            }
            for label, count in ordered
        ]
    return {kind: group if len(index.labels[kind]) > 1 else [] for kind, group in found.items()}


def prepare(build: Build, con: Connection) -> Found:
    """Return which queries find rows for which corpora, once for a build."""
    return build.kept.get("found by", lambda: read_found(con))


def _rules(dialogue: Dialogue) -> str:
    """Return the beginning of the URL of a rule with its cases in the corpus of a dialogue."""
    return address("violations.html", [("corpus", dialogue.corpus_id)]) + "&rule="


def page(build: Build, con: Connection, parameters: QueryParams) -> dict[str, Any]:
    """Return what the page shows. Raises InputError for a key without a row."""
    index, wanted, error = build.index(con), wanted_by(parameters), None
    said = wanted.said
    try:
        matches = match(index, wanted)
    except InputError as refused:  # the field still shows the words, but no link repeats them
        error, wanted = str(refused), replace(wanted, said="", order="published")
        matches = match(index, wanted)
    found_by = prepare(build, con) if wanted.key else None
    dialogue = dialogues.read_dialogue(con, wanted.key, found_by) if wanted.key else None
    other = dialogues.read_dialogue(con, wanted.against, found_by) if wanted.key and wanted.against else None
    place = None
    if dialogue is not None:
        opened = index.numbers[dialogue.key]
        place = matches.numbers.index(opened) if opened in matches.numbers else None
    shown = wanted.page or (place // ROWS + 1 if place is not None else 1)
    paging: Paging = paged(len(matches.numbers), shown, lambda page: wanted.address(page=page, key="", against=""))
    part = matches.numbers[paging.start : paging.last]
    texts = build.kept.get(
        ("texts", wanted.said, *part), lambda: read_texts(con, index, wanted.said, matches.places, part)
    )
    labels = [(kind, label) for kind in KINDS for label in wanted.labels.get(kind, ())]

    def neighbour(step: int) -> str | None:
        if place is None or not 0 <= place + step < len(matches.numbers):
            return None
        beside = matches.numbers[place + step]
        hit = matches.places.get(beside)
        return wanted.address(
            "" if hit is None else f"turn-{place_of(hit)[1]}", key=index.dialogues[beside].key, page=0
        )

    return {
        "wanted": wanted,
        "said": said,
        "orders": {name: title for name, title in ORDERS.items() if wanted.said or name != "best"},
        "default_order": "best" if wanted.said else "published",
        "kept": labels,
        "chips": [{"kind": kind, "label": label, "address": wanted.toggled(kind, label)} for kind, label in labels],
        "error": error,
        "facets": facets(index, wanted, matches),
        "total": len(matches.numbers),
        "hits": matches.hits,
        "is_ranked": matches.is_ranked,
        "paging": paging,
        "rows": lines(index, wanted, matches, part, texts),
        "dialogue": dialogue,
        "other": other,
        "other_fragment": rendering.render_fragment(other, "other", _rules(other)) if other else "",
        "state": [(name, value) for name, value in replace(wanted, against="").parameters() if value],
        "alone": wanted.address(against=""),
        "swapped": wanted.address(key=wanted.against, against=wanted.key, page=0),
        "fragment": rendering.render_fragment(dialogue, rules=_rules(dialogue)) if dialogue else "",
        "position": None if place is None else place + 1,
        "previous": neighbour(-1),
        "next": neighbour(1),
        "back": wanted.address(key="", against="", page=0 if shown == 1 else shown),
    }
