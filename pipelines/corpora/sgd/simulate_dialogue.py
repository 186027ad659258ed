"""Writes one generated SGD dialogue of a given length: a script of moves, worked off service by service.

What holds for every dialogue of the release (data_facts section 6, S07 to S27) holds here by construction.
"""

from __future__ import annotations

import random

from pipelines.corpora.sgd.simulate_script import Course, Design, Move, prepare, write_script
from pipelines.corpora.sgd.simulate_system import System
from pipelines.corpora.sgd.simulate_thread import Speech, Thread, Utterance
from pipelines.corpora.sgd.simulate_user import User


class DialogueWriter:
    """Writes one dialogue. `rows` is the mean number of entities that a search returns."""

    def __init__(self, design: Design, rows: float, rng: random.Random) -> None:
        self.design = design
        self.course = Course(rows, design.oddity, rng)
        self.user, self.system = User(self.course), System(self.course)
        self.turns: list[dict] = []
        self.threads = [Thread.start(name, len(design.services) == 1, rng) for name in design.services]
        self.previous: Thread | None = None
        self.joint_turns = design.joint_turns

    def write(self) -> dict:
        """The dialogue, its keys in the order of the release."""
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
        """How many exchanges each service gets."""
        shares = [thread.service.shortest for thread in self.threads]
        for _ in range(self.design.exchanges - 1 - sum(shares)):
            shares[int(self.course.rng.random() * len(shares))] += 1
        return shares

    def _exchange(self, thread: Thread, move: Move) -> None:
        """A user turn and the system turn that answers it."""
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
        """A turn whose sentences are parted by a blank, now and then by nothing, as in the release."""
        return Speech(Utterance("" if self.course.rng.random() < 0.006 else " "), self.course.rng)

    def _spoil(self) -> None:
        """Blanks at the edges, a line break inside, or no text at all."""
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
