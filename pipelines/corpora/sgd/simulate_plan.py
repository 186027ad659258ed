"""Plans a generated SGD release: who talks with which services, for how long, in which file and with which defect."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from pipelines.corpora.generation import PlannedFile, apportion, random_stream, scaled
from pipelines.corpora.registry import load_corpus
from pipelines.corpora.sgd.simulate_casts import Casts
from pipelines.corpora.sgd.simulate_counts import EMPTY, FACTS, GAPS, multi_layout, single_layout
from pipelines.corpora.sgd.simulate_schema import SIZES, SPLITS, service
from pipelines.corpora.sgd.simulate_script import LONGEST, Design


@dataclass(frozen=True)
class FilePlan:
    """The dialogues of one file and the bytes they should come to."""

    designs: tuple[Design, ...]
    bytes: int


def plan(scale: float) -> list[PlannedFile]:
    """The schemas and the dialogue files; a small release has fewer of these. The plan is the same for every seed."""
    sizes = _listed_sizes()
    files = [PlannedFile(f"{split}/schema.json", sizes[f"{split}/schema.json"]) for split in SPLITS]
    for split in SPLITS:
        planned = sorted(_planned_files(split, scale, sizes))
        designs = [design for _, file in planned for design in file.designs]
        defects = _defects(split, designs, scale)
        joints = _joint_turns(split, designs, scale)
        for number, file in planned:
            final = tuple(
                replace(design, oddity=defects.get(design.dialogue_id, ""), joint_turns=joints[design.dialogue_id])
                for design in file.designs
            )
            files.append(PlannedFile(_path(split, number), file.bytes, FilePlan(final, file.bytes)))
    return files


def _planned_files(split: str, scale: float, sizes: dict[str, int]) -> Iterator[tuple[int, FilePlan]]:
    """Number and dialogues of each file of a split."""
    facts = FACTS[split]
    rng = random_stream(0, "sgd", split, "plan")
    casts_of = Casts(split, facts, scale, rng)
    listed = [sizes[_path(split, number)] for number in range(1, 1 + facts.single_files + facts.multi_files)]
    first = 1
    for casts, turns, layout, layout_bytes in (
        (casts_of.single, facts.single_turns, single_layout(split), listed[: facts.single_files]),
        (casts_of.multi, facts.multi_turns, multi_layout(split), listed[facts.single_files :]),
    ):
        counts = _file_counts(len(casts), layout)
        means = [size / count for size, count in zip(layout_bytes, layout, strict=True)]
        each = list(islice(cycle(means), len(counts)))
        exchanges = round(turns / 2 * len(casts) / sum(layout))
        yield from _fill(split, first, counts, each, casts, exchanges, rng)
        first += max(len(counts), len(layout))


def _listed_sizes() -> dict[str, int]:
    """Bytes of each file of the release."""
    return {file.path: file.bytes for file in load_corpus("sgd").files if file.bytes}


def _path(split: str, number: int) -> str:
    return f"{split}/dialogues_{number:03d}.json"


def _file_counts(total: int, layout: list[int]) -> list[int]:
    """Dialogues in each file: as in the release; below scale 1 the last files are missing, above it more follow."""
    counts = []
    for count in cycle(layout):
        counts.append(min(count, total))
        total -= counts[-1]
        if not total:
            return counts
    return counts


def _fill(
    split: str,
    first: int,
    counts: list[int],
    bytes_each: list[float],
    casts: list[tuple[str, ...]],
    exchanges: int,
    rng: random.Random,
) -> Iterator[tuple[int, FilePlan]]:
    """Dialogues for each file: where the release's are large, there are more services, larger ones, and more turns."""
    largest_first = sorted(casts, key=lambda names: (-len(names), -_slot_count(names), names))
    order = sorted(range(len(counts)), key=lambda index: -bytes_each[index])
    cast_of, start = {}, 0
    for index in order:
        cast_of[index] = largest_first[start : start + counts[index]]
        start += counts[index]
    weights = [bytes_each[index] * counts[index] / _density(cast_of[index]) for index in order]
    for index, share in zip(order, apportion(exchanges, weights), strict=True):
        number, cast = first + index, cast_of[index]
        lengths = _lengths(share, [sum(service(name).shortest for name in names) + 1 for names in cast], rng)
        suffixes = _suffixes(split, number, counts[index])
        designs = tuple(
            Design(f"{number}_{suffix:05d}", names, length)
            for suffix, names, length in zip(suffixes, cast, lengths, strict=True)
        )
        yield number, FilePlan(designs, round(counts[index] * bytes_each[index]))


def _slot_count(names: tuple[str, ...]) -> int:
    return sum(SIZES[name][0] for name in names)


def _density(cast: list[tuple[str, ...]]) -> float:
    """How many bytes an exchange of these dialogues has in relation to others: results have a line for each slot."""
    return 12 + sum(_slot_count(names) / len(names) for names in cast) / len(cast)


def _suffixes(split: str, number: int, count: int) -> list[int]:
    """The numbers behind the file number in the ids of a file."""
    gap = GAPS.get(split, {}).get(number)
    return [suffix for suffix in range(count + 1) if suffix != gap][:count]


def _lengths(total: int, shortest: Sequence[int], rng: random.Random) -> list[int]:
    """Numbers of exchanges that add up to the total, none too short for its services or longer than any dialogue."""
    mean = total / len(shortest)
    lengths = [min(LONGEST, max(least, round(mean * rng.uniform(0.4, 1.6)))) for least in shortest]
    difference, index = total - sum(lengths), 0
    while difference:
        step = 1 if difference > 0 else -1
        position = index % len(lengths)
        if shortest[position] <= lengths[position] + step <= LONGEST:
            lengths[position] += step
            difference -= step
        index += 1
        if index > 40 * len(lengths):
            raise ValueError(f"{len(lengths)} dialogues cannot have {total} exchanges")
    return lengths


def _defects(split: str, designs: list[Design], scale: float) -> dict[str, str]:
    """Dialogue id -> the defect it gets; each defect is spread over the dialogues that can have it."""
    defects: dict[str, str] = {}
    for oddity, count in FACTS[split].oddities.items():
        fitting = [
            design.dialogue_id for design in designs if design.dialogue_id not in defects and _can_have(design, oddity)
        ]
        if oddity == "empty" and set(EMPTY) <= set(fitting):
            fitting = list(EMPTY)
        wanted = min(scaled(count, scale, minimum=min(count, 2)), len(fitting))
        defects |= {fitting[position * len(fitting) // wanted]: oddity for position in range(wanted)}
    return defects


def _joint_turns(split: str, designs: list[Design], scale: float) -> dict[str, int]:
    """Dialogue id -> at how many changes of service the user talks of both services in one turn."""
    joints = {design.dialogue_id: len(design.services) - 1 for design in designs}
    several = [design.dialogue_id for design in designs if len(design.services) > 1]
    excess = sum(joints.values()) - scaled(FACTS[split].joint_turns, scale)
    for position in range(excess):
        dialogue_id = several[position * len(several) // excess]
        joints[dialogue_id] = max(0, joints[dialogue_id] - 1)
    return joints


def _can_have(design: Design, oddity: str) -> bool:
    """Whether the release's defect can happen in this dialogue."""
    if oddity in ("blank", "newline"):
        return len(design.services) > 1
    used = service(design.services[0])
    if len(design.services) > 1 or design.exchanges < 4 or not used.searches:
        return False
    if oddity == "lacking":
        return used.bookings[:1] != () and used.bookings[0].name == "ReserveHotel"
    places = [key for key in used.searches[0].required if used.slots[key].kind == "city"]
    fits = {
        "empty": True,
        "overlap": used.entity != "" and places != [],
        "swapped": len(places) > 1,
        "category": used.name == "Flights_2",
    }
    return fits[oddity]
