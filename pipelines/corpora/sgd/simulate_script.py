"""What a generated SGD dialogue is going to be like, and the script of moves that comes of it.

A move is what the user does and what the system answers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from pipelines.corpora.sgd.simulate_schema import Slot
from pipelines.corpora.sgd.simulate_thread import Said, Thread

LONGEST = 25
"""Exchanges of the longest dialogues; an exchange is a user turn and a system turn."""
Move = tuple[str, str]


@dataclass(frozen=True)
class Design:
    """What a dialogue is going to be like."""

    dialogue_id: str
    services: tuple[str, ...]
    exchanges: int
    joint_turns: int = 0
    """At how many changes of service the user talks of both services in one turn."""
    oddity: str = ""
    """A defect that the release has too: `lacking`, `overlap`, `swapped`, `category`, `blank`, `newline` or `empty`."""


class Course:
    """What user and system share while a dialogue is written. `rows` is the mean number of results of a search."""

    def __init__(self, rows: float, oddity: str, rng: random.Random) -> None:
        self.rows, self.rng = rows, rng
        self.oddity = oddity
        """The defect that is still to come."""
        self.last = ""
        """The system's last move."""

    def say(self, slot: Slot, canonical: str) -> Said:
        """One of the ways to say a value."""
        forms = slot.forms(canonical)
        return forms[int(self.rng.random() * len(forms))], canonical


def write_script(thread: Thread, exchanges: int, course: Course) -> list[Move]:
    """The moves about one service, exactly as many as given."""
    rng, rest = course.rng, exchanges - thread.service.shortest
    if not thread.service.searches:
        changes = min(rest, int(rng.random() * 3))
        fills = min(rest - changes, int(rng.random() * 4.2), len(thread.first.required))
        questions = rest - changes - fills
        script = _opening(fills, "confirm") + [("change", "confirm")] * changes
        return [*script, ("affirm", "succeed"), *[("ask", "answer")] * questions]
    ending = _ending(thread, rest, course)
    rest -= len(ending)
    fills = min(rest, int(rng.random() * 4.2), sum(map(len, thread.used_slots()))) if not course.oddity else 0
    rest -= fills
    late = rest // 3 if ending and ending[-1][1] == "succeed" else 0
    script = _opening(fills, "offer") + _browsing(thread, rest - late, course)
    return script + ending + [("ask", "answer")] * late


def _opening(fills: int, result: str) -> list[Move]:
    """The user says what it is about; the system asks for what is missing."""
    moves = [("open", "request")] + [("fill", "request")] * fills
    return [*moves[:fills], (moves[fills][0], result)]


def _browsing(thread: Thread, count: int, course: Course) -> list[Move]:
    """Looking at what was found; sometimes nothing is, before the user says it differently."""
    choices = [("alternatives", "offer_next")] * 3 + [("ask", "answer")] * 4
    if any(thread.used_slots()):
        choices += [("refine", "offer")] * 2
    moves = [course.rng.choice(choices) for _ in range(count)]
    for index in range(1, len(moves)):
        if moves[index] == ("refine", "offer") == moves[index - 1]:
            moves[index - 1] = ("refine", "find_nothing")
    return moves


def _ending(thread: Thread, room: int, course: Course) -> list[Move]:
    """What a search leads to: a booking, with or without trouble, or nothing."""
    chance = 0.0 if course.oddity == "lacking" else course.rng.random()
    if not thread.has_booking or room < 2 or chance > 0.72:
        if thread.has_booking and room > 2 and chance > 0.73:
            return [("choose", "offer_intent"), ("decline_intent", "more")]
        return [("choose", "more")] if room and chance > 0.2 else []
    moves: list[Move] = [("book", "confirm"), ("affirm", "succeed")]
    if room > 2 and chance < 0.28:
        moves[0:1] = [("choose", "offer_intent"), ("accept_intent", "confirm")]
    if room > len(moves) + 1 and chance < 0.15:
        moves[-1:] = [("affirm", "fail"), ("change", "confirm"), ("affirm", "succeed")]
    elif room > len(moves) and 0.3 < chance < 0.52:
        moves[-1:] = [("change", "confirm"), ("affirm", "succeed")]
    return moves


def prepare(thread: Thread, script: list[Move], course: Course) -> None:
    """Decide which slots the user does not give before being asked."""
    fills = sum(user == "fill" for user, _ in script)
    required, optional = thread.used_slots()
    candidates = list(required) if course.oddity else [*required, *optional]
    count = min(len(candidates), fills + sum(course.rng.random() < 0.95 for _ in range(fills)))
    asked = course.rng.sample(candidates, count)
    thread.to_fill = [asked[position::fills] for position in range(fills)]
