"""Write one generated SGD dialogue of a given length, from a script of moves: the user's turns and the system's.

Properties of every dialogue of the release (data_facts section 6, S07 to S27) also hold here, by construction.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from dialogue_warehouse.corpora.sgd.simulate_thread import (
    ASK_TEXTS,
    COUNT_TEXTS,
    DETAIL_TEXTS,
    DONTCARE,
    DONTCARE_TEXTS,
    INFORM_TEXTS,
    INTENT_TEXTS,
    OFFER_TEXTS,
    PLAIN_TEXTS,
    REQUEST_TEXTS,
    Call,
    Course,
    Design,
    Move,
    Speech,
    Thread,
    Utterance,
    prepare,
    write_script,
)


class System:
    """The system's moves, by their names in a script."""

    def __init__(self, course: Course) -> None:
        self.course, self.rng = course, course.rng

    def move(self, name: str, thread: Thread, speech: Speech) -> Call | None:
        """Write the text and acts of a move. Return the call of the service, if it makes one."""
        return getattr(self, f"_{name}")(thread, speech)

    def _request(self, thread: Thread, speech: Speech) -> None:
        for name in thread.to_fill[0]:
            slot = thread.service.slots[name]
            speech.act("REQUEST", name, slot.categories if self.rng.random() < 0.2 else ())
            speech.utterance.add(speech.phrase(REQUEST_TEXTS, slot.words))

    def _offer(self, thread: Thread, speech: Speech) -> Call:
        count = min(10, max(1, round(self.course.rows * (0.4 + 1.2 * self.rng.random()))))
        call = thread.call(thread.first, count, self.rng)
        thread.results, thread.current = call.results, 0
        self._offer_current(thread, speech)
        if count > 1 and self.rng.random() < 0.4:
            speech.act("INFORM_COUNT", "count", (str(count),))
            speech.utterance.add(speech.phrase(COUNT_TEXTS), str(count))
        return call

    def _find_nothing(self, thread: Thread, speech: Speech) -> Call:
        speech.plain("NOTIFY_FAILURE")
        thread.offered = {}
        return thread.call(thread.first, 0, self.rng)

    def _offer_next(self, thread: Thread, speech: Speech) -> None:
        thread.current = (thread.current + 1) % len(thread.results)
        self._offer_current(thread, speech)

    def _offer_current(self, thread: Thread, speech: Speech) -> None:
        """Offer the current entity, with a detail or two; a service without entities has only details."""
        row, used = thread.results[thread.current], thread.service
        names = [used.entity] if used.entity in row else []
        if self.course.oddity == "overlap" and names:
            self._offer_overlapping(thread, row, speech)
            return
        details = [name for name in thread.askable_slots(thread.first) if name not in names]
        names += self.rng.sample(details, min(len(details), (not names) + int(self.rng.random() * 3.6)))
        thread.offered = {name: self.course.say(used.slots[name], row[name]) for name in names}
        for name, said in thread.offered.items():
            speech.valued("OFFER", used.slots[name], said, OFFER_TEXTS if name == used.entity else DETAIL_TEXTS)
        if used.entity in row and self.rng.random() < 0.03:
            self._offer_others(thread, speech)

    def _offer_others(self, thread: Thread, speech: Speech) -> None:
        """Add further values to the same offer, mostly more than one."""
        entity = thread.service.entity
        following = [thread.results[(thread.current + step) % len(thread.results)][entity] for step in (1, 2)]
        offer = next(action for action in speech.actions if action["slot"] == entity)
        for other in following[self.rng.random() < 0.14 :]:
            if other not in offer["values"]:
                offer["values"] = (*offer["values"], other)
                offer["canonical_values"] = (*offer["canonical_values"], other)
                start = speech.utterance.add("There is {} too.", other)
                speech.mark(entity, start, start + len(other))

    def _offer_overlapping(self, thread: Thread, row: dict[str, str], speech: Speech) -> None:
        """Offer the entity's name with the place in it: two overlapping spans, which the real release has twice."""
        self.course.oddity = ""
        slots, entity = thread.service.slots, thread.service.entity
        key = next(name for name in thread.first.required if slots[name].kind == "city")
        place = thread.canonical[key]
        name = row[entity] = f"{row[entity]} at {place}"
        thread.offered = {entity: (name, name)}
        speech.valued("OFFER", slots[entity], (name, name), OFFER_TEXTS)
        speech.act("OFFER", key, (place,))
        end = speech.spans[0]["exclusive_end"]
        speech.mark(key, end - len(place), end)

    def _answer(self, thread: Thread, speech: Speech) -> None:
        row = thread.results[thread.current]
        for name in thread.requested:
            slot = thread.service.slots[name]
            speech.valued("INFORM", slot, self.course.say(slot, row[name]), DETAIL_TEXTS)

    def _offer_intent(self, thread: Thread, speech: Speech) -> None:
        speech.intent("OFFER_INTENT", thread.booking, PLAIN_TEXTS["OFFER_INTENT"])

    def _confirm(self, thread: Thread, speech: Speech) -> None:
        speech.utterance.add("Please confirm:")
        thread.confirming = {}
        for name in thread.booking.required + thread.booking.optional:
            slot = thread.service.slots[name]
            if name in thread.booking.optional and thread.value(name) is None and self.rng.random() < 0.75:
                continue
            thread.confirming[name] = self.course.say(slot, thread.value(name) or slot.values[0])
            speech.valued("CONFIRM", slot, thread.confirming[name], ("[] {},",))
        speech.utterance.text = speech.utterance.text[:-1] + "."

    def _succeed(self, thread: Thread, speech: Speech) -> Call:
        speech.plain("NOTIFY_SUCCESS")
        call = self._book(thread, 1)
        thread.results, thread.current = call.results, 0
        return call

    def _fail(self, thread: Thread, speech: Speech) -> Call:
        speech.plain("NOTIFY_FAILURE")
        thread.has_failed = True
        return self._book(thread, 0)

    def _book(self, thread: Thread, count: int) -> Call:
        """Call the booking; in a few dialogues without a slot that it requires."""
        call = thread.call(thread.booking, count, self.rng)
        if self.course.oddity == "lacking":
            self.course.oddity = ""
            del call.parameters[thread.booking.required[0]]
        return call

    def _more(self, thread: Thread, speech: Speech) -> None:
        speech.plain("REQ_MORE")

    def _goodbye(self, thread: Thread, speech: Speech) -> None:
        speech.plain("GOODBYE")


class User:
    """The user's moves, by their names in a script."""

    def __init__(self, course: Course) -> None:
        self.course, self.rng = course, course.rng

    def move(self, name: str, thread: Thread, speech: Speech) -> None:
        """Write the text and acts of a move."""
        getattr(self, f"_{name}")(thread, speech)

    def joint_frame(self, thread: Thread, utterance: Utterance) -> dict:
        """Return the frame of the service that the user leaves in the turn that opens the next one."""
        speech = Speech(utterance, self.rng)
        if self.course.last in ("offer", "offer_next") and thread.offered:
            self._choose(thread, speech)
        else:
            speech.plain("NEGATE" if self.course.last == "more" and self.rng.random() < 0.3 else "THANK_YOU")
        return thread.user_frame(speech)

    def _inform(self, thread: Thread, names: Iterable[str], speech: Speech, indifference: float = 0) -> None:
        """Let the user give new values, or not care."""
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
        """Let the user name start and destination, with the two swapped in the annotation."""
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


class DialogueWriter:
    """Writer of one dialogue. `rows` is the mean number of entities that a search returns."""

    def __init__(self, design: Design, rows: float, rng: random.Random) -> None:
        self.design = design
        self.course = Course(rows, design.oddity, rng)
        self.user, self.system = User(self.course), System(self.course)
        self.turns: list[dict] = []
        self.threads = [Thread.start(name, len(design.services) == 1, rng) for name in design.services]
        self.previous: Thread | None = None
        self.joint_turns = design.joint_turns

    def write(self) -> dict:
        """Return the dialogue, with its keys in the order of the release."""
        for thread, exchanges in zip(self.threads, self._shares(), strict=True):
            script = write_script(thread, exchanges, self.course)
            prepare(thread, script, self.course)
            for move in script:
                self._exchange(thread, move)
            self.previous = thread
        self._exchange(self.threads[-1], ("leave", "goodbye"))
        self._spoil()
        return {"dialogue_id": self.design.dialogue_id, "services": list(self.design.services), "turns": self.turns}

    def _shares(self) -> list[int]:
        """Return the number of exchanges for each service."""
        shares = [thread.service.shortest for thread in self.threads]
        for _ in range(self.design.exchanges - 1 - sum(shares)):
            shares[int(self.course.rng.random() * len(shares))] += 1
        return shares

    def _exchange(self, thread: Thread, move: Move) -> None:
        """Write a user turn and the system turn that answers it."""
        user, system = move
        speech = self._speech()
        frames = []
        if user == "open" and self.joint_turns and self.previous:
            self.joint_turns -= 1
            frames.append(self.user.joint_frame(self.previous, speech.utterance))
        self.user.move(user, thread, speech)
        frames.append(thread.user_frame(speech))
        self.turns.append({"frames": frames, "speaker": "USER", "utterance": speech.utterance.text})
        speech = self._speech()
        call = self.system.move(system, thread, speech)
        frames = [thread.system_frame(speech, call)]
        self.turns.append({"frames": frames, "speaker": "SYSTEM", "utterance": speech.utterance.text})
        self.course.last = system

    def _speech(self) -> Speech:
        """Return a turn whose sentences are separated by a blank, sometimes by nothing, as in the release."""
        return Speech(Utterance("" if self.course.rng.random() < 0.006 else " "), self.course.rng)

    def _spoil(self) -> None:
        """Add blanks at the edges or a line break inside, or remove the text."""
        first, second = self.turns[0], self.turns[1]
        if self.design.oddity == "blank":
            second["utterance"] += " "
            first["utterance"] = " " + first["utterance"]
            for span in first["frames"][0]["slots"]:
                span["start"] += 1
                span["exclusive_end"] += 1
        elif self.design.oddity == "newline":
            first["utterance"] += "\nThank you."
        elif self.design.oddity == "empty":
            silent = self.turns[-3]
            silent["utterance"] = ""
            silent["frames"][0]["slots"] = []
