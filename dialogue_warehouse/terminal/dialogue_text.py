"""A dialogue on the terminal: one line per turn, with its annotations below; control characters are escaped.

Without a terminal the same lines are plain. The marks of spans are always written as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dialogue_warehouse.common.text import visible, visible_lines
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.dialogue_parts import GENERATED, GoalWords, cut

ROLES = {"user": "bold cyan", "system": "bold green"}
"""Styles of the speakers with a known role."""
PEERS = ("bold magenta", "bold yellow")
"""Styles of the other speakers, in the order in which they speak."""
CHANGES = {"added": ("+ ", "green"), "changed": ("~ ", "yellow"), "dropped": ("- ", "red"), "carried": ("", "dim")}
"""Sign and style of a slot by the change that a turn made to it."""
KINDS = {"dialogue_act": "acts"}
"""Kinds of acts with another name on the terminal."""
MARK = Text("▶", style="bold red")
Line = tuple[Text | str, Text | str, Text | str, Text]
"""A line of the grid: mark, number of the turn, speaker or name of the note, and text."""

Note = tuple[str, list[tuple[str, Text]]]
"""A note below a turn: its name, and its texts with the keys of the rows that they show."""


def print_dialogue(dialogue: dialogue_parts.Dialogue, console: Console) -> None:
    """Print a dialogue; without a terminal, remove the blanks at line ends."""
    if console.is_terminal:
        _draw(dialogue, console)
        return
    with console.capture() as capture:
        _draw(dialogue, console)
    for line in capture.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)


def _draw(dialogue: dialogue_parts.Dialogue, console: Console) -> None:
    for line in _head(dialogue):
        console.print(line, soft_wrap=True)
    for base in dialogue.knowledge:
        console.print(_knowledge(base, dialogue.mark))
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    grid.add_column(overflow="fold")
    for line in _turns(dialogue):
        grid.add_row(*line)
    console.print(grid)
    if dialogue.answers:
        console.print(_answers(dialogue.answers, dialogue.mark))


def _head(dialogue: dialogue_parts.Dialogue) -> Iterator[Text]:
    yield Text(visible(dialogue.key), style="bold")
    facts = [dialogue.corpus, dialogue.split or "no split", dialogue.channel, dialogue.task]
    yield _plain(", ".join(text for text in facts if text))
    source = dialogue.source
    yield _named("source", f"{source.source_file_id}, record {source.record_index:,} at '{source.record_pointer}'")
    if source.is_generated:
        yield _named("generated", GENERATED)
    for service in dialogue.services:
        if service.service:
            yield _named("service", ": ".join(text for text in (service.service, service.description) if text))
    if reward := dialogue_parts.rewards(dialogue):
        yield _named("reward", reward)
    yield from _scenario(dialogue.scenario)
    yield from _guideline(dialogue.guideline)
    for violation in dialogue.violations:
        yield _violation(violation)
    if mark := dialogue.mark:
        yield Text.assemble(MARK, _plain(f" {mark.key}: {mark.table}, at '{mark.json_pointer or 'no single place'}'"))
    yield Text()


def _scenario(scenario: dialogue_parts.Scenario | None) -> Iterator[Text]:
    if scenario is None:
        return
    names = " / ".join(text for text in (scenario.scenario_id, scenario.flow, scenario.subflow) if text)
    yield _named("scenario", names)
    for value in scenario.values:
        yield _named("", f"{value.section} {value.field}: {value.value}")


def _guideline(guideline: dialogue_parts.Guideline | None) -> Iterator[Text]:
    if guideline is None:
        return
    names = " / ".join(text for text in (guideline.flow, guideline.subflow) if text)
    yield _named("guideline", f"{names}, followed: {guideline.conformance or 'not judged'}")
    for step in guideline.steps:
        taken = f" (turn {', '.join(map(str, step.taken_in))})" if step.taken_in else ""
        text = step.text or step.button or step.act or ""
        yield _named("", f"{step.index}. {f'{step.act}: ' if step.act else ''}{text}{taken}")


def _turns(dialogue: dialogue_parts.Dialogue) -> Iterator[Line]:
    styles, words = _styles(dialogue.turns), dialogue_parts.words_of(dialogue)
    shown = dialogue.mark.shown_key if dialogue.mark else None
    for turn in dialogue.turns:
        speaker = turn.speaker or turn.role
        label = Text(visible(speaker), style=styles[turn.role, speaker])
        yield _mark(turn.key == shown), str(turn.index), label, _said(turn)
        for name, texts in _notes(turn, shown, words):
            yield _mark(any(key == shown for key, _ in texts)), "", Text(name, style="dim"), _joined(texts, shown)


def _mark(is_marked: bool) -> Text | str:
    return MARK if is_marked else ""


def _styles(turns: Iterable[dialogue_parts.Turn]) -> dict[tuple[str, str], str]:
    """Return the style of each speaker."""
    styles: dict[tuple[str, str], str] = {}
    for turn in turns:
        others = sum(role not in ROLES for role, _ in styles)
        style = ROLES.get(turn.role) or PEERS[others % len(PEERS)]
        styles.setdefault((turn.role, turn.speaker or turn.role), style)
    return styles


def _said(turn: dialogue_parts.Turn) -> Text:
    """Return the text of a turn, with its spans in the notation of `core.transcript`."""
    if turn.text is None:
        return Text(turn.event_type, style="dim italic")
    text = Text(style="italic" if turn.event_type == "action" else "")
    for piece in cut(turn.text, turn.spans):
        for label in piece.closing:
            text.append(f"]({visible(label)})", style="blue")
        text.append("[" * piece.opening, style="blue")
        for label in piece.empty:
            text.append(f"[]({visible(label)})", style="blue")
        text.append(visible_lines(piece.text), style="underline" if piece.depth else "")
    return text


def _notes(turn: dialogue_parts.Turn, shown: str | None, words: GoalWords) -> Iterator[Note]:
    """Yield the notes below a turn."""
    for span in turn.spans:
        if span.key == shown:
            yield "span", [(span.key, _plain(f"{span.label}, characters {span.start} to {span.end}"))]
    yield from _by_type(turn.acts, _act)
    for state in turn.states:
        yield "state", [(state.key, _state(state))]
        for is_carried in (False, True):
            if slots := [slot for slot in state.slots if (slot.change == "carried") is is_carried]:
                yield "", [(slot.key, _slot(slot)) for slot in slots]
    yield from _calls(turn.calls)
    for selection in turn.selections:
        yield words.selects, [(selection.key, _selection(selection, words))]
    for candidates in turn.candidates:
        yield "candidates", [(candidates.key, _candidates(candidates))]
    yield from _by_type(turn.annotations, _annotation)
    for violation in turn.violations:
        yield "", [("", _violation(violation))]


def _by_type(found: Sequence[Any], text_of: Callable[[Any], Text]) -> Iterator[Note]:
    """Yield a note for each type of these parts, in the order in which the types are first."""
    for kind in dict.fromkeys(one.type for one in found):
        yield KINDS.get(kind) or visible(kind), [(one.key, text_of(one)) for one in found if one.type == kind]


def _calls(calls: Sequence[dialogue_parts.Call]) -> Iterator[Note]:
    for call in calls:
        name = ".".join(part for part in (call.service, call.method) if part is not None)
        yield "call", [(call.key, _plain(f"{name}({_pairs(call.parameters)})"))]
        for position, result in enumerate(call.results):
            there = {name: value for name, value in zip(call.columns, result.values, strict=True) if value is not None}
            yield f"result {position}", [(result.key, _plain(_pairs(there)))]
        if not call.results:
            yield "result", [("none", Text("none", style="dim"))]


def _joined(texts: list[tuple[str, Text]], shown: str | None) -> Text:
    """Join the texts in one line, with the mark before the requested one."""
    marked = [Text.assemble(MARK, " ", text) if key == shown and len(texts) > 1 else text for key, text in texts]
    return Text(" · ", style="dim").join(marked)


def _selection(selection: dialogue_parts.Selection, words: GoalWords) -> Text:
    counts = ", ".join(f"{value} {name}" for name, value in selection.item.items())
    text = _plain(counts if words.value_first else _pairs(selection.item))
    if verdict := dialogue_parts.verdict(selection):
        text.append(f", {verdict}", style="green" if selection.is_shared else "red")
    return text


def _act(act: dialogue_parts.Act) -> Text:
    text = Text(visible(act.act or "?"))
    values = _values(act.values)
    if pair := "=".join(part for part in (act.slot, values) if part):
        text.append(f" {visible(pair)}")
    if act.canonical_values and act.canonical_values != act.values:
        text.append(f" ({visible(_values(act.canonical_values))})")
    if act.guideline_steps:
        text.append(f", step {', '.join(map(str, act.guideline_steps))} of the guideline")
    return text


def _annotation(found: dialogue_parts.Annotation) -> Text:
    return _plain("=".join(part for part in (found.slot, found.value) if part is not None))


def _state(state: dialogue_parts.State) -> Text:
    text = _plain(_values([part for part in (state.service, state.active_intent) if part is not None]))
    if state.requested_slots:
        text.append(visible(f", requests {', '.join(state.requested_slots)}"))
    return text


def _slot(slot: dialogue_parts.StateSlot) -> Text:
    sign, style = CHANGES[slot.change]
    values, previous = _values(slot.variants or [slot.value], " / "), _values([slot.previous_value])
    texts = {
        "dropped": f"{slot.slot}: {previous}",
        "changed": f"{slot.slot}: {previous} → {values}",
    }
    return Text(visible(f"{sign}{texts.get(slot.change, f'{slot.slot}: {values}')}"), style=style)


def _candidates(candidates: dialogue_parts.Candidates) -> Text:
    text = _plain(f"{len(candidates.candidates):,}, {dialogue_parts.target_of(candidates)}")
    for candidate in [one for one in candidates.candidates if one.is_target]:  # JSON and HTML have all of them
        text.append(visible(f": {candidate.text or candidate.candidate_id}"))
    return text


def _violation(violation: dialogue_parts.Violation) -> Text:
    name = "defect" if violation.kind == "defect" else "by design"
    return Text(visible(f"{name}: {violation.rule}: {violation.detail}"), style="yellow")


def _knowledge(base: dialogue_parts.KnowledgeBase, mark: dialogue_parts.Mark | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=_plain(f"{base.agent} knows"), title_justify="left")
    for name in ("", "", *base.columns, ""):
        table.add_column(_plain(name), overflow="fold")
    for item in base.items:
        selected = f"selected in turn {', '.join(map(str, item.selected_in))}" if item.selected_in else ""
        remark = ", ".join(text for text in ("shared" if item.is_shared else "", selected) if text)
        cells = (_plain(str(value)) if value is not None else Text("NULL", style="dim") for value in item.values)
        is_marked = mark is not None and mark.shown_key == item.key
        table.add_row(_mark(is_marked), str(item.index), *cells, remark, style="green" if item.is_shared else "")
    return table


def _answers(answers: Sequence[dialogue_parts.Answer], mark: dialogue_parts.Mark | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name, justify in (("", "left"), ("votes", "right"), ("", "left"), ("agent", "left"), ("answer", "left")):
        table.add_column(name, justify=justify, overflow="fold")
    for answer in dialogue_parts.by_votes(answers):
        is_marked = mark is not None and mark.shown_key in (answer.vote_key, answer.response_key)
        response = Text("", style="dim") if answer.response is None else Text(visible_lines(answer.response))
        chosen = Text("chosen", style="green") if answer.is_selected else ""
        votes = "-" if answer.votes is None else str(answer.votes)
        table.add_row(_mark(is_marked), votes, chosen, _plain(answer.option), response)
    return table


def _named(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<10}", "dim"), _plain(text))


def _pairs(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name}={_values([value])}" for name, value in values.items())


def _values(values: Iterable[object], separator: str = ", ") -> str:
    """Join values; one without a text is NULL, as in tables."""
    return separator.join("NULL" if value is None else str(value) for value in values)


def _plain(text: str) -> Text:
    return Text(visible(text))
