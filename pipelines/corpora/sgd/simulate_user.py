"""What the user of a generated SGD dialogue says: a method a move."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.corpora.sgd.simulate_script import Course
from pipelines.corpora.sgd.simulate_thread import (
    ASK_TEXTS,
    DONTCARE,
    DONTCARE_TEXTS,
    INFORM_TEXTS,
    INTENT_TEXTS,
    Speech,
    Thread,
    Utterance,
)


class User:
    """The user's moves, by the names that a script has for them."""

    def __init__(self, course: Course) -> None:
        self.course, self.rng = course, course.rng

    def move(self, name: str, thread: Thread, speech: Speech) -> None:
        """Say what belongs to a move."""
        getattr(self, f"_{name}")(thread, speech)

    def joint_frame(self, thread: Thread, utterance: Utterance) -> dict:
        """The frame of the service that the user leaves in the turn that opens the next one."""
        speech = Speech(utterance, self.rng)
        if self.course.last in ("offer", "offer_next") and thread.offered:
            self._choose(thread, speech)
        else:
            speech.plain("NEGATE" if self.course.last == "more" and self.rng.random() < 0.3 else "THANK_YOU")
        return thread.user_frame(speech)

    def _inform(self, thread: Thread, names: Iterable[str], speech: Speech, indifference: float = 0) -> None:
        """The user gives new values, or does not care."""
        for name in names:
            slot = thread.service.slots[name]
            if indifference and name in thread.first.optional and self.rng.random() < indifference:
                said = DONTCARE, DONTCARE
                speech.act("INFORM", name, (DONTCARE,))
                speech.utterance.add(speech.phrase(DONTCARE_TEXTS, slot.words))
            else:
                drawn = self.course.say(slot, self.rng.choice(slot.values))
                said = thread.wordings.setdefault((name, drawn[1]), drawn)
                speech.valued("INFORM", slot, said, INFORM_TEXTS)
            thread.inform(name, said)

    def _open(self, thread: Thread, speech: Speech) -> None:
        thread.intent = thread.first.name
        speech.intent("INFORM_INTENT", thread.first, INTENT_TEXTS)
        required, optional = thread.used_slots()
        given = list(required)
        if optional and self.rng.random() < 0.1:
            given.append(self.rng.choice(optional))
        if self.course.oddity == "swapped":
            self._inform_swapped(thread, given, speech)
        elif self.course.oddity == "category":
            speech.act("INFORM", "passengers", ("5",))
            speech.utterance.add("There are 5 of us.")
        asked = {slot for slots in thread.to_fill for slot in slots}
        self._inform(thread, [slot for slot in given if slot not in asked], speech)

    def _inform_swapped(self, thread: Thread, given: list[str], speech: Speech) -> None:
        """The user says where to start and where to go, and the annotation has it the other way round."""
        self.course.oddity = ""
        speech.utterance.joint = " "
        slots = thread.service.slots
        origin, destination = [name for name in given if slots[name].kind == "city"][:2]
        cities = self.rng.sample(slots[origin].values, 2)
        for name, text, city in zip((destination, origin), ("I travel from {}", "to {}."), cities, strict=True):
            given.remove(name)
            speech.act("INFORM", name, (city,))
            start = speech.utterance.add(text, city)
            speech.mark(name, start, start + len(city))
            thread.inform(name, thread.wordings.setdefault((name, city), (city, city)))

    def _fill(self, thread: Thread, speech: Speech) -> None:
        self._inform(thread, thread.to_fill.pop(0), speech, indifference=0.04)

    def _refine(self, thread: Thread, speech: Speech) -> None:
        required, optional = thread.used_slots()
        self._inform(thread, (self.rng.choice(optional or required),), speech)

    def _alternatives(self, thread: Thread, speech: Speech) -> None:
        speech.plain("REQUEST_ALTS")

    def _ask(self, thread: Thread, speech: Speech) -> None:
        slots = thread.askable_slots()
        for name in self.rng.sample(slots, min(len(slots), 1 + (self.rng.random() < 0.4))):
            speech.act("REQUEST", name)
            speech.utterance.add(speech.phrase(ASK_TEXTS, thread.service.slots[name].words))
            speech.requested.append(name)
        speech.requested.sort()
        thread.requested = speech.requested

    def _choose(self, thread: Thread, speech: Speech) -> None:
        slots, entity = thread.service.slots, thread.service.entity
        if list(thread.offered) == [entity] and self.rng.random() < 0.4:
            speech.valued("SELECT", slots[entity], thread.offered[entity], ("I will take {}.",))
        else:
            speech.plain("SELECT")
        thread.adopt({name: said for name, said in thread.offered.items() if slots[name].role != "r"})

    def _book(self, thread: Thread, speech: Speech) -> None:
        if thread.offered:
            self._choose(thread, speech)
        thread.intent = thread.booking.name
        speech.intent("INFORM_INTENT", thread.booking, INTENT_TEXTS)
        if self.rng.random() < 0.06:
            thread.forget()
        self._inform(thread, thread.missing(), speech)

    def _accept_intent(self, thread: Thread, speech: Speech) -> None:
        speech.plain("AFFIRM_INTENT")
        thread.intent = thread.booking.name
        self._inform(thread, thread.missing(), speech)

    def _decline_intent(self, thread: Thread, speech: Speech) -> None:
        speech.plain("NEGATE_INTENT")

    def _affirm(self, thread: Thread, speech: Speech) -> None:
        speech.plain("AFFIRM")
        thread.adopt(thread.confirming)

    def _change(self, thread: Thread, speech: Speech) -> None:
        if not thread.has_failed:
            speech.plain("NEGATE")
        own = [name for name in thread.confirming if thread.service.slots[name].role in "bo"]
        self._inform(thread, (self.rng.choice(own or list(thread.confirming)),), speech)
        thread.has_failed = False

    def _leave(self, thread: Thread, speech: Speech) -> None:
        if self.course.last == "more":
            speech.plain("NEGATE")
        elif self.course.last in ("offer", "offer_next"):
            self._choose(thread, speech)
        speech.plain("THANK_YOU")
        if self.rng.random() < 0.55:
            speech.act("GOODBYE")
            speech.utterance.add("Bye.")
        if self.rng.random() < 0.71:
            thread.intent = "NONE"
