"""Dialogues of the Python API: one with its methods, and the selected ones of a warehouse."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NoReturn, overload

import duckdb
import msgspec

from dialogue_warehouse.api import arguments, processes
from dialogue_warehouse.api.fixed import fix
from dialogue_warehouse.api.opened import Opened
from dialogue_warehouse.common.files import open_regular
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.exporting import chat, losses
from dialogue_warehouse.exporting.writing import OPTIONS
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.reading import connection, dialogue_parts
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.dialogues import stream_dialogues
from dialogue_warehouse.reading.selection import NO_SPLIT
from dialogue_warehouse.reading.selection import Dialogue as Selected

Examples = Callable[[Sequence[Selected], dict[str, Any]], Iterator[dict[str, Any]]]
"""A function that yields the examples of dialogues, with these options of the form."""
Explained = Callable[[Generator[Any]], Generator[Any]]
"""A function that yields the same items, and names the problem of the published build if reading them fails."""

BATCH_TURNS = 10_000
"""Turns of the dialogues that are read at once, which bounds the memory."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Dialogue(dialogue_parts.Dialogue):
    """A dialogue with all its data. It is immutable, and stays usable when the warehouse is closed.

    Attributes
    ----------
    key, corpus_id, corpus, dialogue_id, split, source_split
        Its key in the warehouse, the id and the title of its corpus, its own id in the corpus, and its split:
        `train`, `validation`, `test` or None; `source_split` is the publisher's word.
    task, source_task, channel, goal_kind, outcome_reward
        Its task (a domain, subflow or intent), in the shared and in the publisher's words; whether it is `spoken` or
        `written`; the goal of the speakers (such as `fill_form` or `follow_guideline`); and its result: above 0 if they
        reached the goal, None if the corpus has no such result.
    turns
        The turns in their order, each with `index` (from 0), `role` (`user`, `system`, `peer` or `unknown`),
        `speaker` (as published), `text` (None for an event without one) and `event_type` (`utterance`, `action`,
        `selection`, `other`). Their annotation: `spans` (marked characters, with `start`, `end`, `service`, `slot`),
        `acts` (`type`, `act`, `slot`, `values`), `states` (the belief state of a service: `slots` with `value`, and
        `change` against the state before: `added`, `changed`, `carried` or `dropped`), `calls` (`method`,
        `parameters`, `results`), `selections` (the `item` that a person selected), `candidates` (`target_position`:
        the position of the right text, from 0), `annotations` (values of a kind that only this corpus has: `type`,
        `service`, `slot`, `value`).
    answers
        The answers that people voted on, for a corpus with votes: `agent_id` (None for the option that no agent is
        right), `response`, `votes`, `is_selected` (the publisher lists the option as right), `gold_position` (its
        place there).
    scenario, knowledge, participants, services
        What the people were asked to do, what each of two people knew, who they were, and the services or domains.
    guideline
        The guideline of its task, with `steps`, `prescribed_acts`, and `conformance`: how the acts compare with these,
        `exact`, `interrupted` (with others between), `shortened` (some are missing) or `broken`. None if the task has
        none.
    violations
        The rules that the dialogue itself breaks, and its properties by design. Those of a turn are in the turn.
    source, mark, format
        Its file, record and JSON pointer in the release; the requested row, if it is not the dialogue itself; the
        version of these fields.
    """

    _read: ClassVar[Examples | None] = None
    """Reads the examples in the warehouse of this dialogue; a copied or pickled dialogue has no warehouse."""

    @property
    def defects(self) -> tuple[dialogue_parts.Violation, ...]:
        """The known defects of the dialogue and of its turns, without properties by design."""
        found = (*self.violations, *(violation for turn in self.turns for violation in turn.violations))
        return tuple(violation for violation in found if violation.kind == "defect")

    def to_dict(self) -> dict[str, Any]:
        """Return the dialogue as dicts, lists and values of JSON: the same as `dialogue-warehouse show --json`."""
        return msgspec.json.decode(msgspec.json.encode(self._values()))

    def messages(self, **options: Any) -> list[dict[str, Any]]:
        """Return the messages of the dialogue's first example in the form `chat`; an empty list if it has no example.

        Parameters
        ----------
        **options
            The options of the form: `profile` (`"faithful"`, `"alternating"`), `arguments` (`"object"`, `"string"`),
            `targets` (None, `"weight"`, `"train"`), `instructions` (True, False), `max_characters` (a number).

        Raises
        ------
        InputError
            If an option is unknown, the warehouse is closed, its build is not both open and published, or the dialogue
            was copied or pickled.
        """
        return next(iter(self.examples(**options)), {"messages": []})["messages"]

    def examples(self, **options: Any) -> list[dict[str, Any]]:
        """Return the examples of the dialogue in the form `chat`, with `id`, `messages`, `source` and, if any, `tools`.

        Parameters
        ----------
        **options
            The options of the form, as in `messages`.

        Raises
        ------
        InputError
            As `messages` does.
        """
        if self._read is None:
            raise InputError(f"{self.key}: a copied or unpickled dialogue has no warehouse; read it from an open one")
        selected = Selected(self.key, self.corpus_id, self.split, len(self.turns))
        return list(self._read([selected], options))

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<Dialogue {self.key}: {counted(len(self.turns), 'turn')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the dialogue without the warehouse."""
        return _dialogue_of, (self._values(),)

    def _values(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(dialogue_parts.Dialogue)}

    def to_html(self, *, page: bool = False) -> str:
        """Return the dialogue as the viewer shows it: HTML that needs and loads nothing else.

        Parameters
        ----------
        page
            Returns a whole page, as `dialogue-warehouse show --html` prints it, instead of a part of one.
        """
        from dialogue_warehouse.site import rendering  # Jinja is needed only here

        if arguments.flag("page", page):
            return rendering.render_page(self)
        return f"<style>{rendering.style()}</style>{rendering.render_fragment(self)}"

    def _repr_html_(self) -> str:
        """Return the dialogue as the viewer shows it, for a notebook."""
        return self.to_html()


def _dialogue_of(values: dict[str, Any]) -> Dialogue:
    return Dialogue(**values)


def with_methods(read: dialogue_parts.Dialogue, examples: Examples) -> Dialogue:
    """Return a dialogue with the methods of the API, of which no part can be changed."""
    fix(read)
    dialogue = Dialogue(**vars(read))
    object.__setattr__(dialogue, "_read", examples)  # it does not belong to the data
    return dialogue


class Dialogues:
    """The selected dialogues of a warehouse, in the order of corpus, split and key, or of the given keys.

    `len(…)` and `.keys` read nothing. `…[0]` reads one dialogue, and `…[:100]` selects the first hundred.

    Each iteration reads the dialogues again, in batches: they are never all in memory. All iterations read the build
    that was open when they were selected; `examples` can be read until another one is published.
    """

    def __init__(self, con: Connection, selected: Sequence[Selected], examples: Examples, explained: Explained) -> None:
        """Remember the selected dialogues of an open build."""
        self._con, self._selected, self._read, self._explained = con, tuple(selected), examples, explained

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the dialogues."""
        return tuple(one.key for one in self._selected)

    def examples(self, **options: Any) -> Iterator[dict[str, Any]]:
        """Yield the examples of the dialogues in the form `chat`, as `dialogue-warehouse export` writes them.

        They are in the order of the dialogues. A dialogue may have several examples, or none.

        Parameters
        ----------
        **options
            The options of the form: `profile` (`"faithful"`, `"alternating"`), `arguments` (`"object"`, `"string"`),
            `targets` (None, `"weight"`, `"train"`), `instructions` (True, False), `max_characters` (a number).

        Raises
        ------
        InputError
            If an option is unknown, the warehouse is closed, or their build is not both open and published.
        """
        return self._read(self._selected, options)

    def __len__(self) -> int:
        return len(self._selected)

    def __contains__(self, dialogue: object) -> bool:
        """Return whether a dialogue is selected, or the one with this key."""
        wanted = dialogue.key if isinstance(dialogue, Dialogue) else dialogue
        return any(one.key == wanted for one in self._selected)

    @overload
    def __getitem__(self, index: int) -> Dialogue: ...

    @overload
    def __getitem__(self, index: slice) -> Dialogues: ...

    def __getitem__(self, index: int | slice) -> Dialogue | Dialogues:
        """Read the dialogue at a position, or select those of a slice without reading them."""
        if isinstance(index, slice):
            return self._with(self._selected[index])
        if isinstance(index, str):
            raise InputError(f"{index!r}: a position is a number; `dialogue` reads the dialogue of a key")
        return next(iter(self._with([self._selected[index]])))

    def __iter__(self) -> Generator[Dialogue]:
        """Read the dialogues, in batches."""
        return self._explained(self._batches())

    def _with(self, selected: Sequence[Selected]) -> Dialogues:
        return Dialogues(self._con, selected, self._read, self._explained)

    def _batches(self) -> Generator[Dialogue]:
        if processes.is_inherited(self._con):
            raise InputError("another process has opened the warehouse of these dialogues; open it again in this one")
        keys = ([one.key for one in batch] for batch in batches(self._selected, BATCH_TURNS))
        try:
            with connection.another(self._con) as con:
                for read in stream_dialogues(con, keys):
                    yield with_methods(read, self._read)
        except duckdb.ConnectionException as error:
            raise InputError("the warehouse of these dialogues is closed; open it again") from error

    def __copy__(self) -> Dialogues:
        return self[:]

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: another process needs its own connection."""
        raise TypeError(
            "selected dialogues cannot be pickled, as their warehouse is open in this process: pass their `keys` on, "
            "and open the warehouse again in the other process"
        )

    def __repr__(self) -> str:
        corpora = sorted({one.corpus_id for one in self._selected})
        return f"<Dialogues: {counted(len(self), 'dialogue')}{' of ' if corpora else ''}{', '.join(corpora)}>"

    def _repr_html_(self) -> str:
        """Return the numbers of dialogues by corpus and split, and the first keys, for a notebook."""
        from dialogue_warehouse.site import rendering  # Jinja is needed only here

        counts = Counter((one.corpus_id, one.split or NO_SPLIT) for one in self._selected)
        rows = [(corpus, split, f"{number:,}") for (corpus, split), number in counts.items()]
        first = ", ".join(self.keys[:3]) + (", …" if len(self) > 3 else "")
        return rendering.render_rows(repr(self)[1:-1], ("corpus", "split", "dialogues"), rows, first)


def batches(selected: Sequence[Selected], most_turns: int) -> Iterator[Sequence[Selected]]:
    """Yield the dialogues in groups with about the same number of turns."""
    start, turns = 0, 0
    for number, one in enumerate(selected):
        if turns and turns + one.turn_count > most_turns:
            yield selected[start:number]
            start, turns = number, 0
        turns += max(one.turn_count, 1)
    if selected:
        yield selected[start:]


def examples_of(opened: Opened) -> Examples:
    """Return what yields the examples of dialogues of the build that is open now; it checks options at once."""
    selected_in = opened.file

    def read(selected: Sequence[Selected], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        chosen = form_options("chat", OPTIONS["chat"], options)
        return opened.explained(_read_examples(opened.database(selected_in), opened.settings, selected, chosen))

    return read


def _read_examples(
    database: Path, settings: Any, selected: Sequence[Selected], chosen: chat.ChatOptions
) -> Generator[dict[str, Any]]:
    """Yield the examples of dialogues of a build in the form `chat`, in the order of the dialogues."""
    with open_core(database, settings) as con, tempfile.TemporaryDirectory(prefix="dialogue-warehouse-") as folder:
        for corpus_id, of_corpus in groupby(selected, key=lambda one: one.corpus_id):
            corpus = registry.load_corpus(corpus_id)
            for batch in batches(list(of_corpus), BATCH_TURNS):
                con.execute(losses.EXPORTED)
                file = Path(folder, "examples.jsonl")
                chat.write(con, corpus, batch, file, chosen, _ignore)
                places = {one.key: place for place, one in enumerate(batch)}
                with open_regular(file) as lines:
                    examples = [msgspec.json.decode(line) for line in lines]
                yield from sorted(examples, key=lambda example: places[example["source"]["dialogue_key"]])


CHOICES: dict[str, tuple[Any, ...]] = {
    "profile": chat.PROFILES,
    "arguments": chat.ARGUMENTS,
    "targets": (None, *chat.TARGETS),
    "instructions": (False, True),
}
"""The values that an option may have."""


def form_options(form: str, kind: Any, given: dict[str, Any]) -> Any:
    """Return the options of a form; `kind` is their class. Raises InputError for an unknown name or value."""
    known = {one.name for one in fields(kind)}
    for name, value in given.items():
        if name not in known:
            raise InputError(f"{name}: the form {form} has no such option; it has {', '.join(sorted(known))}")
        if name in CHOICES and value not in CHOICES[name]:
            raise InputError(f"{name}: {value!r} is not one of {', '.join(map(repr, CHOICES[name]))}")
        if name == "max_characters" and value is not None:
            arguments.number(name, value)
    return kind(**given)


def _ignore(_progress: str) -> None:
    """Show no progress."""
