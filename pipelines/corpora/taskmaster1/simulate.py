"""Generates a Taskmaster-1 release: written self-dialogs, spoken Wizard-of-Oz dialogs, split files and the ontology.

Counts are those of the release (data_facts section 4, verification_targets 2.5); every sentence is invented. What the
documentation does not expect is here too: empty dialogs, a third speaker, deleted turns, segments that overlap.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.corpora.generation import PlannedFile, apportion, compact_document, indented_array, random_stream, scaled
from pipelines.corpora.taskmaster1.simulate_domains import DOMAINS, Domain
from pipelines.corpora.taskmaster1.simulate_sentences import PLAIN, annotated_sentence, status_sentence

SELF_DIALOGS, WOZ_DIALOGS = 7_708, 5_507
SPLITS = {"dev": 770, "test": 770, "train": 6_168}
"""Self dialogs of each split, in the order of their ids."""
DELETED = "(deleted)"
MONOLOGUE = 4
"""Utterances of a dialog with one speaker."""
UNKNOWN_SPEAKER = "MODERATOR"
EXTRA_INSTRUCTION = "movie-finder"
"""An instruction without a booking task, which the release has beside the six."""


@dataclass(frozen=True)
class Part:
    """What the release counts in one file at scale 1, and how its annotations look."""

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
"""Not documented for the spoken dialogs, and chosen: utterances, those with annotations, deleted turns."""


STATUS_SHARE = 0.02
"""How often the last annotated utterance, of each annotated one, speaks of the whole transaction."""


def plan(scale: float) -> list[PlannedFile]:
    """The six data files of the release; sample.json is documentation and not generated."""
    files = [PlannedFile("ontology.json", 1_400)]
    for split, count in SPLITS.items():
        files.append(PlannedFile(f"train-dev-test/{split}.csv", scaled(count, scale) * 42, scale))
    for name, part in PARTS.items():
        files.append(PlannedFile(f"{name}-dialogs.json", round(part.bytes * scale), scale))
    return files


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """One file of the release."""
    name = planned.path.rpartition("/")[2].partition(".")[0]
    if name == "ontology":
        yield _ontology()
    elif name in SPLITS:
        yield "".join(f"{identifier},\n" for identifier in split_members(name, planned.parameters, seed)).encode()
    else:
        yield from indented_array(_dialogs(name.removesuffix("-dialogs"), planned.parameters, seed))


def split_members(split: str, scale: float, seed: int) -> list[str]:
    """The ids of a split: a range of the sorted ids of the self dialogs."""
    identifiers = conversation_ids("self", scale, seed)
    sizes = dict(zip(SPLITS, apportion(len(identifiers), tuple(SPLITS.values()), minimum=1), strict=True))
    first = sum(size for name, size in sizes.items() if list(SPLITS).index(name) < list(SPLITS).index(split))
    return identifiers[first : first + sizes[split]]


def conversation_ids(part: str, scale: float, seed: int) -> list[str]:
    """The ids of all dialogs of a file, in its order."""
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
    """What one dialog is like."""

    utterances: int
    annotated: int
    runs: int
    """Pieces between two changes of the speaker."""
    has_deleted_turn: bool = False
    has_unknown_speaker: bool = False


def dialog_plans(part: Part, count: int, rng: random.Random) -> list[DialogPlan]:
    """Lengths, annotated utterances and runs of all dialogs of a file; each adds up to the release's number."""
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
    """Numbers of utterances that add up to the total: even, except for one of them where the total is odd."""
    lengths = [2 * pairs for pairs in apportion(total // 2, [rng.uniform(0.62, 1.38) for _ in range(count)])]
    lengths[-1] += total % 2
    return lengths


def _dialogs(name: str, scale: float, seed: int) -> Iterator[dict]:
    """All dialogs of a file."""
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
    """Who speaks in each utterance; where somebody goes on speaking, it is mostly the one who began."""
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
    """The turns of one dialog."""
    free = list(range(dialog.utterances))
    deleted = None
    if dialog.has_deleted_turn:
        deleted = rng.choice([index for index in free[1:] if speakers[index] == speakers[index - 1]])
        free.remove(deleted)
    annotated = sorted(rng.sample(free, dialog.annotated))
    required = list(domain.required)
    first = dialog.utterances % len(required)  # or each dialog would name the store, which workers forgot now and then
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
