"""What the system of a generated SGD dialogue answers, and the calls that it makes: a method a move."""

from __future__ import annotations

from pipelines.corpora.sgd.simulate_script import Course
from pipelines.corpora.sgd.simulate_thread import (
    COUNT_TEXTS,
    DETAIL_TEXTS,
    OFFER_TEXTS,
    PLAIN_TEXTS,
    REQUEST_TEXTS,
    Call,
    Speech,
    Thread,
)


class System:
    """The system's moves, by the names that a script has for them."""

    def __init__(self, course: Course) -> None:
        self.course, self.rng = course, course.rng

    def move(self, name: str, thread: Thread, speech: Speech) -> Call | None:
        """Say what belongs to a move; the call of the service, where it makes one."""
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
        """Further values in the same offer, mostly more than one."""
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
        """The entity's name with the place in it: two spans that overlap, as in two frames of the release."""
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
        """Call the booking, in a few dialogues without a slot that it requires."""
        call = thread.call(thread.booking, count, self.rng)
        if self.course.oddity == "lacking":
            self.course.oddity = ""
            del call.parameters[thread.booking.required[0]]
        return call

    def _more(self, thread: Thread, speech: Speech) -> None:
        speech.plain("REQ_MORE")

    def _goodbye(self, thread: Thread, speech: Speech) -> None:
        speech.plain("GOODBYE")
