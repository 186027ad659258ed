"""Parts of a generated SGD dialogue: texts with spans, a thread for each service, and the script of moves.

A move is an action of the user and the system's answer. A thread keeps the belief state of one service and the results
of its calls. `simulate_dialogue` decides which moves happen.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field

from dialogue_warehouse.corpora.sgd.simulate_schema import Intent, Service, Slot, service

NEVER_USED = {"Music_2": "album", "Trains_1": "to_station"}
"""Slots of the schema that no dialogue uses: train and test of the release have one each."""
NEVER_ACTIVE = "FindFreeTime"
"""An intent of the schema that no dialogue activates: train of the release has one."""
NEVER_ALONE = {
    "Buses_2": "to_station", "Flights_3": "stops", "Banks_2": "transfer_day", "Payment_1": "AskForPayment",
}  # fmt: skip
"""Slots and intents that only dialogues with several services use: train has one such slot, dev two, test an intent."""
NEVER_JOINED = {"Music_3": "StreamMusic"}
"""An intent, and with it a slot, that only dialogues with one service use: test of the release has one."""
DONTCARE = "dontcare"
"""The value of a slot that the user does not care about."""
SPOKEN_CATEGORIES = {"True": "yes", "False": "no"}
INTENT_TEXTS = ("I want to use [].", "Can you help with []?", "I need [] next.", "Please [] for me.", "Let us [] now.")
INFORM_TEXTS = (
    "The [] should be {}.", "{} as the [], please.", "I would like {} for the [].", "My [] is {}.", "Let us say [] {}.",
)  # fmt: skip
DONTCARE_TEXTS = ("I do not mind about the [].", "Any [] is fine with me.")
ASK_TEXTS = ("What is the []?", "Can you tell me the []?", "And the []?")
REQUEST_TEXTS = ("Which [] do you want?", "What [] are you looking for?", "Do you have a preferred []?")
OFFER_TEXTS = ("There is {} for you.", "How about {}?", "I found {}.", "You may like {}.")
DETAIL_TEXTS = ("The [] is {}.", "Its [] is {}.", "It has {} as its [].")
COUNT_TEXTS = ("I found {} options.", "There are {} that match.", "I see {} of them.")
PLAIN_TEXTS = {
    "REQUEST_ALTS": ("Is there anything else?", "What else do you have?", "Can you show me another one?"),
    "SELECT": ("That one sounds good.", "Yes, that works for me.", "Great, I like that one."),
    "AFFIRM": ("Yes, that is correct.", "Sure, please go ahead.", "Sounds perfect."),
    "NEGATE": ("No, not quite.", "No, that will be all.", "No, that is not what I meant."),
    "AFFIRM_INTENT": ("Yes, please do that.", "Sure, that would be great."),
    "NEGATE_INTENT": ("No, not right now.", "I would rather wait with that."),
    "THANK_YOU": ("Thank you very much.", "Thanks a lot for your help."),
    "REQ_MORE": ("Is there anything else I can do for you?", "Do you need more help?"),
    "GOODBYE": ("Have a great day!", "Goodbye, take care."),
    "NOTIFY_SUCCESS": ("It is all done for you.", "Your request went through."),
    "NOTIFY_FAILURE": ("Sorry, that did not work.", "I am sorry, I could not find anything."),
    "OFFER_INTENT": ("Do you want me to [] for you?", "Shall I [] now?"),
}
PLAIN_ACTIONS = {act: {"act": act, "canonical_values": [], "slot": "", "values": []} for act in PLAIN_TEXTS}


Said = tuple[str, str]
"""The spoken form of a value, and its canonical form."""


@dataclass
class Utterance:
    """A text that grows by phrases."""

    joint: str = " "
    text: str = ""

    def add(self, phrase: str, value: str = "") -> int:
        """Append a phrase, its value in place of the braces. Return where the value starts."""
        if self.text:
            self.text += self.joint
        before, _, after = phrase.partition("{}")
        start = len(self.text) + len(before)
        self.text += before + value + after
        return start


@dataclass
class Speech:
    """The content of one turn about one service: its part of the utterance and its annotations."""

    utterance: Utterance
    rng: random.Random
    actions: list[dict] = field(default_factory=list)
    spans: list[dict] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def act(self, act: str, slot: str = "", values: tuple[str, ...] = (), canonical: tuple[str, ...] = ()) -> None:
        """Note an act without any text; the canonical values are the values unless given."""
        self.actions.append({"act": act, "canonical_values": canonical or values, "slot": slot, "values": values})

    def phrase(self, texts: tuple[str, ...], words: str = "") -> str:
        """Return one of the texts, about the thing with this name."""
        return self.rng.choice(texts).replace("[]", words)

    def plain(self, act: str) -> None:
        """Add an act without slot and value."""
        self.actions.append(PLAIN_ACTIONS[act])
        self.utterance.add(self.rng.choice(PLAIN_TEXTS[act]))

    def intent(self, act: str, intent: Intent, texts: tuple[str, ...]) -> None:
        """Add an act about an intent."""
        self.act(act, "intent", (intent.name,))
        self.utterance.add(self.phrase(texts, intent_words(intent.name)))

    def valued(self, act: str, slot: Slot, said: Said, texts: tuple[str, ...]) -> None:
        """Add an act with a value; the value is a span unless the slot is categorical."""
        spoken, canonical = said
        self.act(act, slot.name, (spoken,), (canonical,))
        start = self.utterance.add(self.phrase(texts, slot.words), SPOKEN_CATEGORIES.get(spoken, spoken))
        if not slot.is_categorical:
            self.mark(slot.name, start, start + len(spoken))

    def mark(self, slot: str, start: int, end: int) -> None:
        """Mark a part of the utterance as a span."""
        self.spans.append({"exclusive_end": end, "slot": slot, "start": start})


@functools.cache
def intent_words(intent: str) -> str:
    """Return an intent's name as it is spoken."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in intent).strip()


@dataclass
class Call:
    """A call of a service, and its results."""

    method: str
    parameters: dict[str, str]
    results: list[dict[str, str]]


@dataclass
class Thread:
    """A service as used in one dialogue: the belief state and the last results of the service."""

    service: Service
    first: Intent
    """The intent that the user begins with: a search if the service has one."""
    booking: Intent
    """The intent that may follow the first one; the first intent itself if there is none."""
    unused: tuple[str | None, ...]
    """Slots that the dialogue does not use."""
    intent: str = ""
    state: dict[str, list[str]] = field(default_factory=dict)
    canonical: dict[str, str] = field(default_factory=dict)
    wordings: dict[tuple[str, str], Said] = field(default_factory=dict)
    """The user's form of a canonical value of a slot: the same words in all turns."""
    to_fill: list[list[str]] = field(default_factory=list)
    """Slots that the system asks for, those of one turn together."""
    results: list[dict[str, str]] = field(default_factory=list)
    current: int = 0
    offered: dict[str, Said] = field(default_factory=dict)
    confirming: dict[str, Said] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    has_failed: bool = False

    @classmethod
    def start(cls, name: str, is_alone: bool, rng: random.Random) -> Thread:
        """Return a thread about a service, alone in its dialogue or beside others."""
        used = service(name)
        unused = NEVER_USED.get(name), (NEVER_ALONE if is_alone else NEVER_JOINED).get(name)
        searches = [intent for intent in used.searches if intent.name != NEVER_ACTIVE]
        bookings = [intent for intent in used.bookings if intent.name not in unused]
        booking = rng.choice(bookings) if bookings else None
        search = rng.choice(searches) if searches else booking
        assert search is not None, f"{name} has no intent"
        return cls(used, search, booking or search, unused)

    @property
    def has_booking(self) -> bool:
        """True if a booking may follow the search."""
        return self.booking is not self.first

    def used_slots(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return required and optional slots of the first intent that dialogues use."""
        return _used_slots(self.first, self.unused)

    def askable_slots(self, intent: Intent | None = None) -> tuple[str, ...]:
        """Return the slots that an intent returns and a user may ask for.

        Without an intent, take the one that returned something last.
        """
        last = self.first if self.intent == self.first.name else self.booking
        return _askable_slots(intent or last, self.service.name, self.unused)

    def missing(self) -> list[str]:
        """Return the slots that a booking needs and that have no value yet."""
        return [slot for slot in self.booking.required if self.value(slot) is None]

    def value(self, slot: str) -> str | None:
        """Return the canonical value of a slot; None if there is none or the user does not care."""
        known = self.canonical.get(slot, DONTCARE)
        return None if known == DONTCARE else known

    def inform(self, slot: str, said: Said) -> None:
        """Take over a value that the user gave."""
        self.state[slot] = [said[0]]
        self.canonical[slot] = said[1]

    def adopt(self, values: dict[str, Said]) -> None:
        """Take over values that the system gave: as a further variant if the user gave the value in other words."""
        for slot, (spoken, canonical) in values.items():
            known = self.state.get(slot, []) if self.canonical.get(slot) == canonical else []
            if spoken not in known:
                self.state[slot] = sorted([*known, spoken])
            self.canonical[slot] = canonical

    def forget(self) -> None:
        """Remove slots that only the search needed; they vanish from the state in the release too."""
        for slot in self.first.optional:
            self.state.pop(slot, None)

    def call(self, intent: Intent, count: int, rng: random.Random) -> Call:
        """Call the service with all known values, and invent its results."""
        taken = sorted(intent.required + intent.optional)
        parameters = {slot: value for slot in taken if (value := self.value(slot)) is not None}
        entities = _entities(self.service.name)
        first = int(rng.random() * (len(entities) - count))
        returned = sorted(intent.result)
        results = [
            {slot: parameters.get(slot) or entity[slot] for slot in returned}
            for entity in entities[first : first + count]
        ]
        return Call(intent.name, parameters, results)

    def user_frame(self, speech: Speech) -> dict:
        """Return a user frame with the state after this turn."""
        state = {
            "active_intent": self.intent,
            "requested_slots": speech.requested,
            "slot_values": dict(sorted(self.state.items())),
        }
        return {"actions": speech.actions, "service": self.service.name, "slots": speech.spans, "state": state}

    def system_frame(self, speech: Speech, call: Call | None) -> dict:
        """Return a system frame, with the call and its results if there was one."""
        if call is None:
            return {"actions": speech.actions, "service": self.service.name, "slots": speech.spans}
        return {
            "actions": speech.actions,
            "service": self.service.name,
            "service_call": {"method": call.method, "parameters": call.parameters},
            "service_results": call.results,
            "slots": speech.spans,
        }


@functools.cache
def _entities(name: str) -> tuple[dict[str, str], ...]:
    """Return the entities of a service: a value for each of its slots."""
    rng = random.Random(name)
    slots = service(name).slots.values()
    return tuple({slot.name: rng.choice(slot.values) for slot in slots} for _ in range(90))


@functools.cache
def _used_slots(intent: Intent, unused: tuple[str | None, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return intent.required, tuple(slot for slot in intent.optional if slot not in unused)


@functools.cache
def _askable_slots(intent: Intent, name: str, unused: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return slots that an intent returns: those that are only returned, or else all of them."""
    slots = service(name).slots
    usable = [slot for slot in intent.result if slot not in unused]
    return tuple([slot for slot in usable if slots[slot].role == "r"] or usable)


LONGEST = 25
"""Exchanges of the longest dialogues; an exchange is a user turn and a system turn."""
Move = tuple[str, str]


@dataclass(frozen=True)
class Design:
    """The plan of a dialogue."""

    dialogue_id: str
    services: tuple[str, ...]
    exchanges: int
    joint_turns: int = 0
    """Number of changes of service at which the user talks about both services in one turn."""
    oddity: str = ""
    """A defect that the release has too: `lacking`, `overlap`, `swapped`, `category`, `blank`, `newline` or `empty`."""


class Course:
    """State that user and system share while a dialogue is written.

    `rows` is the mean number of results of a search.
    """

    def __init__(self, rows: float, oddity: str, rng: random.Random) -> None:
        self.rows, self.rng = rows, rng
        self.oddity = oddity
        """The defect that is still to come."""
        self.last = ""
        """The system's last move."""

    def say(self, slot: Slot, canonical: str) -> Said:
        """Return one of the spoken forms of a value, with the value."""
        forms = slot.forms(canonical)
        return forms[int(self.rng.random() * len(forms))], canonical


def write_script(thread: Thread, exchanges: int, course: Course) -> list[Move]:
    """Return the moves about one service, exactly as many as given."""
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
    """Return moves in which the user states the request and the system asks for missing slots."""
    moves = [("open", "request")] + [("fill", "request")] * fills
    return [*moves[:fills], (moves[fills][0], result)]


def _browsing(thread: Thread, count: int, course: Course) -> list[Move]:
    """Return moves about the results; sometimes there are none until the user changes the request."""
    choices = [("alternatives", "offer_next")] * 3 + [("ask", "answer")] * 4
    if any(thread.used_slots()):
        choices += [("refine", "offer")] * 2
    moves = [course.rng.choice(choices) for _ in range(count)]
    for index in range(1, len(moves)):
        if moves[index] == ("refine", "offer") == moves[index - 1]:
            moves[index - 1] = ("refine", "find_nothing")
    return moves


def _ending(thread: Thread, room: int, course: Course) -> list[Move]:
    """Return the moves after a search: a booking, with or without trouble, or none."""
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
    """Choose the slots that the user does not give before the system asks."""
    fills = sum(user == "fill" for user, _ in script)
    required, optional = thread.used_slots()
    candidates = list(required) if course.oddity else [*required, *optional]
    count = min(len(candidates), fills + sum(course.rng.random() < 0.95 for _ in range(fills)))
    asked = course.rng.sample(candidates, count)
    thread.to_fill = [asked[position::fills] for position in range(fills)]
