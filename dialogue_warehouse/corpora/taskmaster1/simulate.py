"""Generate a Taskmaster-1 release: written self-dialogs, spoken Wizard-of-Oz dialogs, split files and the ontology.

Counts are those of the release (data_facts section 4, verification_targets 2.5); every sentence is invented. It also
has what the documentation does not mention: empty dialogs, a third speaker, deleted turns, segments that overlap.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from dialogue_warehouse.corpora.generation import (
    PlannedFile,
    apportion,
    compact_document,
    indented_array,
    random_stream,
    scaled,
)


@dataclass(frozen=True)
class Domain:
    """A task: its entry in the ontology, its instructions, and values for each label."""

    key: str
    id: str
    vertical: str
    instruction: str
    required: dict[str, str]
    optional: dict[str, str]

    @property
    def labels(self) -> dict[str, str]:
        """Values of each label, separated by a bar."""
        return self.required | self.optional


PLACES = "Maple Street|the old harbor|Fifth and Pine|Union Square, near the fountain|the west end of town"
CLOCK = "7 pm|half past six|around noon|8:15 in the evening|tomorrow at 4"
NUMBERS = "two|3|four|just one|6"
DOMAINS = (
    Domain(
        "uber", "uber_lyft", "ride_booking", "uber-lyft",
        {"location.from": PLACES, "location.to": "the airport|Café Olé|the train station|my sister's house",
         "type.ride": "a shared ride|the large one|UberXL|a regular car", "num.people": NUMBERS},
        {"price.estimate": "$14|about 22 dollars|$9.50", "duration.estimate": "18 minutes|half an hour",
         "time.pickup": CLOCK, "time.dropoff": CLOCK},
    ),
    Domain(
        "movie", "movie_ticket", "ticket_booking", "movie-tickets",
        {"name.movie": "The Glass Harbor|Pokémon Garden|Seven Lanterns|Moonlight Ferry 2", "num.tickets": NUMBERS,
         "name.theater": "Grand Lantern 12|the Orpheum|Riverside Cinemas", "time.start": CLOCK,
         "location.theater": PLACES, "price.ticket": "$12.50 each|thirteen dollars|$8"},
        {"type.screening": "3D|IMAX|the regular screen", "time.end": CLOCK, "time.duration": "two hours|95 minutes"},
    ),
    Domain(
        "restaurant", "restaurant_reservation", "reservation", "restaurant-table",
        {"name.restaurant": "Señor Pepe's|Lotus Kitchen|The Brass Ladle|Olive & Fig", "num.guests": NUMBERS,
         "name.reservation": "Tina Brandt|Mr. Okoro|Jim, just Jim", "time.reservation": CLOCK},
        {"type.seating": "a booth|outside on the patio|by the window", "location.restaurant": PLACES},
    ),
    Domain(
        "coffee", "coffee_ordering", "coffee_order", "coffee-ordering",
        {"location.store": PLACES, "name.drink": "crème brûlée latte|flat white|iced mocha|cold brew",
         "size.drink": "large|a medium|the smallest one"},
        {"num.drink": NUMBERS, "type.milk": "oat milk|skim|almond milk", "preference": "extra hot|no whipped cream"},
    ),
    Domain(
        "pizza", "pizza_ordering", "pizza_order", "pizza-ordering",
        {"name.store": "Bella Torre|Slice & Co.|Uncle Gino's", "name.pizza": "four cheese|a veggie supreme|Hawaiian",
         "size.pizza": "large|a medium|16 inch"},
        {"type.topping": "jalapeño|extra mushrooms|olives on one half", "type.crust": "thin crust|hand tossed",
         "preference": "well done|cut in squares", "location.store": PLACES},
    ),
    Domain(
        "auto", "auto_repair", "appointment", "auto-repair",
        {"name.store": "Gearworks|Lane Garage|Miller Auto", "name.customer": "Dana Novák|Bob Reyes|Mrs. Lindqvist",
         "date.appt": "next Tuesday|the 14th|Friday", "time.appt": CLOCK},
        {"reason.appt": "a squeaking brake|an oil change|the engine light", "name.vehicle": "a Civic|my old Volvo",
         "year.vehicle": "2014|an '09", "location.store": PLACES},
    ),
)  # fmt: skip
"""The six domains in the order of the ontology; labels as published, values invented."""


PLAIN = {
    "USER": (
        "Hi there, I was hoping that you could help me with something for tonight.", "Okay.", "Yes please.",
        "Hello, can you help me with something?", "Hmm, what else is there that might be a good fit for us?",
        "😊 perfect!", "That sounds great, thank you so much for all of your help today.",
        "No, that will be all for now.", "Let me think about that for a second.", "Sure, that works for me.",
        "Could you say that again, please?", "All right, and then I should be all set for tonight.",
        "I don't mind, whatever is the easiest for you to do.",
        "Is there anything else that you would recommend to me instead?",
    ),
    "ASSISTANT": (
        "Hi, how can I help you today?", "Okay, one moment while I bring that up.",
        "Sure, let me look that up for you.", "Is there anything else that I can do for you before I put it through?",
        "Got it.", "Yes.", "I am sorry, but that one is not available at the moment.",
        "Great, I have just put that in for you.", "Could you tell me a little more about what you have in mind?",
        "You will get a text message in a few minutes.",
        "All right, I am checking it right now, this may take a little.", "Thank you, enjoy your day!",
        "Just to make sure that I have everything right so far.", "I will be with you in a second…",
    ),
}  # fmt: skip
SENTENCES = {
    "USER": (
        "I would like {} if that is possible, with {}.", "{}, please.", "Let's go with {} and {}.", "What about {}?",
        "{}.", "Can you make it {}? And {} would be nice too, if they still have that.", "😊 {} and {} sounds good",
        "I'm thinking of {}, but {} is fine as well, or {} in the worst case.", "No, rather {} then, not {}",
        "My wife said {}, so please do that, and {}, and also {}.",
        "It has to be {}. Oh, and {} if you can manage it.",
    ),
    "ASSISTANT": (
        "So that's {} with {} and {}, is that right?", "I see {} here.",
        "They have {} or {}, which would you like better?", "Okay, {} it is, and {}.", "I found {} for you, with {}.",
        "Sorry, {} is not available anymore.", "{}?", "Let me repeat that: {}, {}, {}, and you pay when you arrive.",
        "Should I book {} then, or do you prefer {}?", "The best I have is {}, {}.",
    ),
}  # fmt: skip
"""Sentences around one to three annotated values."""
STATUS_FORMS = ("Your {} is confirmed.", "I could not finish the {}.")


def annotated_sentence(
    domain: Domain, labels: list[str], role: str, agreement: float, disagreement: float, rng: random.Random
) -> dict:
    """Return a sentence with one to three labeled pieces, sometimes with a further piece by a second worker."""
    pieces = rng.choice(SENTENCES[role]).split("{}")
    text, segments = pieces[0], []
    for piece in pieces[1:]:
        label = labels.pop(0) if labels else next(iter(domain.required))
        value = rng.choice(domain.labels[label].split("|"))
        name = _name(domain, label, rng)
        both = rng.random() < agreement
        start = len(text)
        text += value
        segments.append(_segment(text, start, len(text), [name, name] if both else [name]))
        if not both and rng.random() < disagreement:
            segments.append(_other_segment(text + piece, start, len(text), name, rng))
        text += piece
    return {"text": text, "segments": segments}


def _segment(text: str, start: int, end: int, names: list[str]) -> dict:
    annotations = [{"name": name} for name in names]
    return {"start_index": start, "end_index": end, "text": text[start:end], "annotations": annotations}


def _other_segment(text: str, start: int, end: int, name: str, rng: random.Random) -> dict:
    """Return the segment of a second worker: one character more, or a part of the first worker's piece."""
    inner = text.rfind(" ", start, end)
    if end < len(text) and (inner < 0 or rng.random() < 0.5):
        return _segment(text, start, end + 1, [name])
    return _segment(text, inner + 1 if inner >= 0 else start, end, [name])


def _name(domain: Domain, label: str, rng: random.Random) -> str:
    """Return a label of the domain, mostly bare; rarely one of another domain, as in the release."""
    chance = rng.random()
    if chance < 0.004:
        other = rng.choice(DOMAINS)
        return f"{other.id}.{next(iter(other.required))}"
    suffix = ".accept" if chance < 0.28 else ".reject" if chance < 0.37 else ""
    return f"{domain.id}.{label}{suffix}"


def status_sentence(domain: Domain, rng: random.Random) -> dict:
    """Return a sentence about the whole transaction: labeled with the domain itself, in one of three forms."""
    verdict = rng.randrange(2)
    outcome = ("accept", "reject")[verdict]
    name = rng.choice((domain.id, f"{domain.id}.{outcome}", f"{domain.id}.{domain.vertical}.{outcome}"))
    order = domain.vertical.replace("_", " ")
    text = STATUS_FORMS[verdict].format(order)
    start = text.index(order)
    return {"text": text, "segments": [_segment(text, start, start + len(order), [name])]}


SELF_DIALOGS, WOZ_DIALOGS = 7_708, 5_507
SPLITS = {"dev": 770, "test": 770, "train": 6_168}
"""Number of self dialogs of each split, in the order of their ids."""
DELETED = "(deleted)"
MONOLOGUE = 4
"""Number of utterances of a dialog with one speaker."""
UNKNOWN_SPEAKER = "MODERATOR"
EXTRA_INSTRUCTION = "movie-finder"
"""An instruction without a booking task, which the release has in addition to the six."""


@dataclass(frozen=True)
class Part:
    """Counts of the release in one file at scale 1, and the form of its annotations."""

    dialogs: int
    utterances: int
    runs: int
    """Pieces between two changes of the speaker, without deleted turns and dialogs of fewer than two speakers."""
    annotated_utterances: int
    unannotated_dialogs: int
    empty_dialogs: int
    one_speaker_dialogs: int
    deleted_turns: int
    bytes: int
    agreement: float
    """Share of segments that both workers labeled alike."""
    disagreement: float
    """Share of annotated utterances where a second worker marked another piece."""


PARTS = {
    "self": Part(SELF_DIALOGS, 169_469, 169_469, 68_228, 17, 0, 0, 0, 65_748_638, 0.5, 0.2),
    "woz": Part(WOZ_DIALOGS, 126_000, 109_416, 41_000, 129, 13, 27, 30, 37_204_053, 0.03, 0.02),
}
"""Counts that are not documented for the spoken dialogs, and are chosen here: utterances, utterances with annotations,
deleted turns."""


STATUS_SHARE = 0.02
"""Probability that a dialog's last annotated utterance is about the whole transaction, for each annotated utterance."""


def plan(scale: float) -> list[PlannedFile]:
    """Plan the six data files of the release; sample.json is documentation and not generated."""
    files = [PlannedFile("ontology.json", 1_400)]
    for split, count in SPLITS.items():
        files.append(PlannedFile(f"train-dev-test/{split}.csv", scaled(count, scale) * 42, scale))
    for name, part in PARTS.items():
        files.append(PlannedFile(f"{name}-dialogs.json", round(part.bytes * scale), scale))
    return files


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield the bytes of one file of the release."""
    name = planned.path.rpartition("/")[2].partition(".")[0]
    if name == "ontology":
        yield _ontology()
    elif name in SPLITS:
        yield "".join(f"{identifier},\n" for identifier in split_members(name, planned.parameters, seed)).encode()
    else:
        yield from indented_array(_dialogs(name.removesuffix("-dialogs"), planned.parameters, seed))


def split_members(split: str, scale: float, seed: int) -> list[str]:
    """Return the ids of a split: a range of the sorted ids of the self dialogs."""
    identifiers = conversation_ids("self", scale, seed)
    sizes = dict(zip(SPLITS, apportion(len(identifiers), tuple(SPLITS.values()), minimum=1), strict=True))
    first = sum(size for name, size in sizes.items() if list(SPLITS).index(name) < list(SPLITS).index(split))
    return identifiers[first : first + sizes[split]]


def conversation_ids(part: str, scale: float, seed: int) -> list[str]:
    """Return the ids of all dialogs of a file, in its order."""
    rng = random_stream(seed, "taskmaster1", part, "ids")
    count = scaled(PARTS[part].dialogs, scale, minimum=10)
    return sorted(f"dlg-{uuid.UUID(int=rng.getrandbits(128), version=4)}" for _ in range(count))


def _ontology() -> bytes:
    entries = {
        domain.key: {
            "id": domain.id,
            "vertical": domain.vertical,
            "required": list(domain.required),
            "optional": list(domain.optional),
        }
        for domain in DOMAINS
    }
    return compact_document(entries, 2) + b"\n"


@dataclass(frozen=True)
class DialogPlan:
    """Length and features of one dialog."""

    utterances: int
    annotated: int
    runs: int
    """Pieces between two changes of the speaker."""
    has_deleted_turn: bool = False
    has_unknown_speaker: bool = False


def dialog_plans(part: Part, count: int, rng: random.Random) -> list[DialogPlan]:
    """Return length, annotated utterances and runs of all dialogs of a file; each adds up to the release's number."""
    share = count / part.dialogs
    empty = scaled(part.empty_dialogs, share) if part.empty_dialogs else 0
    monologues = scaled(part.one_speaker_dialogs, share) if part.one_speaker_dialogs else 0
    bare = scaled(part.unannotated_dialogs, share, minimum=empty + monologues + 1)
    ordinary = count - empty - monologues
    lengths = _lengths(round(part.utterances * share) - MONOLOGUE * monologues, ordinary, rng)
    annotated = apportion(round(part.annotated_utterances * share), lengths[: count - bare])
    annotated += [0] * (ordinary - len(annotated))
    runs = apportion(round(part.runs * share), lengths)
    deleted = scaled(part.deleted_turns, share) if part.deleted_turns else 0
    plans = [DialogPlan(0, 0, 0)] * empty + [DialogPlan(MONOLOGUE, 0, 1)] * monologues
    for index, (length, labels, changes) in enumerate(zip(lengths, annotated, runs, strict=True)):
        has_stranger = index == deleted and deleted > 0
        plans.append(DialogPlan(length, labels, changes, index < deleted, has_stranger))
    rng.shuffle(plans)
    return plans


def _lengths(total: int, count: int, rng: random.Random) -> list[int]:
    """Return numbers of utterances that add up to the total: even, except for one of them if the total is odd."""
    lengths = [2 * pairs for pairs in apportion(total // 2, [rng.uniform(0.62, 1.38) for _ in range(count)])]
    lengths[-1] += total % 2
    return lengths


def _dialogs(name: str, scale: float, seed: int) -> Iterator[dict]:
    """Yield all dialogs of a file."""
    rng = random_stream(seed, "taskmaster1", name, "dialogs")
    part = PARTS[name]
    identifiers = conversation_ids(name, scale, seed)
    for identifier, dialog in zip(identifiers, dialog_plans(part, len(identifiers), rng), strict=True):
        domain = rng.choice(DOMAINS)
        speakers = _speakers("USER" if name == "self" else "ASSISTANT", dialog, rng)
        instruction = EXTRA_INSTRUCTION if not dialog.annotated else f"{domain.instruction}-{rng.randint(1, 5)}"
        yield {
            "conversation_id": identifier,
            "instruction_id": instruction,
            "utterances": _utterances(dialog, domain, speakers, part, rng),
        }


def _speakers(first: str, dialog: DialogPlan, rng: random.Random) -> list[str]:
    """Return the speaker of each utterance; a speaker with several in a row is mostly the one who began the dialog."""
    lengths = [1] * dialog.runs
    for _ in range(dialog.utterances - dialog.runs):
        run = rng.randrange(dialog.runs)
        lengths[run - run % 2 if rng.random() < 0.9 else run] += 1
    roles = (first, "ASSISTANT" if first == "USER" else "USER")
    speakers = [roles[run % 2] for run, length in enumerate(lengths) for _ in range(length)]
    if dialog.has_unknown_speaker:
        speakers[speakers.index("USER")] = UNKNOWN_SPEAKER
    return speakers


def _utterances(dialog: DialogPlan, domain: Domain, speakers: list[str], part: Part, rng: random.Random) -> list[dict]:
    """Return the turns of one dialog."""
    free = list(range(dialog.utterances))
    deleted = None
    if dialog.has_deleted_turn:
        deleted = rng.choice([index for index in free[1:] if speakers[index] == speakers[index - 1]])
        free.remove(deleted)
    annotated = sorted(rng.sample(free, dialog.annotated))
    required = list(domain.required)
    first = dialog.utterances % len(required)  # else every dialog would name the store; workers sometimes forgot it
    labels = required[first : first + 2] + rng.choices(list(domain.labels), k=3 * dialog.annotated)
    marked = set(annotated)
    utterances = []
    for index, speaker in enumerate(speakers):
        utterance = {"index": index, "speaker": speaker}
        role = speaker if speaker in PLAIN else "ASSISTANT"
        if index in marked:
            may_end = index == annotated[-1] and index != annotated[0]
            is_status = may_end and rng.random() < STATUS_SHARE * dialog.annotated
            if is_status:
                utterance |= status_sentence(domain, rng)
            else:
                utterance |= annotated_sentence(domain, labels, role, part.agreement, part.disagreement, rng)
        else:
            utterance["text"] = DELETED if index == deleted else rng.choice(PLAIN[role])
        utterances.append(utterance)
    return utterances
