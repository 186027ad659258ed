"""Generate an SGD release: the same files, ids, services and numbers of dialogues and turns as the release.

The plan comes first: which dialogue uses which services, its length, its file and its defect, with every domain as
often as in the release. Sources: data_facts section 6, verification_targets 2.2. `simulate_dialogue` writes the
dialogues.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from dialogue_warehouse.corpora.generation import (
    PlannedFile,
    apportion,
    indented_array,
    indented_element,
    random_stream,
    scaled,
)
from dialogue_warehouse.corpora.registry import load_corpus
from dialogue_warehouse.corpora.sgd.simulate_dialogue import DialogueWriter
from dialogue_warehouse.corpora.sgd.simulate_schema import SIZES, SPLITS, schema, service
from dialogue_warehouse.corpora.sgd.simulate_thread import LONGEST, Design

PER_FILE = 128
"""Dialogues of a full file."""
SHORT_FILES = {"train": range(35, 44)}
"""Single-service files with ten dialogues less than a full file."""
GAPS = {"train": {20: 93, **dict.fromkeys((*range(21, 30), 35), 60)}}
"""Numbers left out in the ids of each file of a split; dev and test have these ids, which train does not have."""
EMPTY = ("3_00055", "6_00009")
"""Dialogues of test with an empty utterance."""


@dataclass(frozen=True)
class Split:
    """Counts of the release in one split, at scale 1."""

    single_files: int
    multi_files: int
    single_turns: int
    multi_turns: int
    services_per_dialogue: tuple[int, int, int, int]
    """Dialogues with 1, 2, 3, 4 services."""
    same_domain: int
    """Dialogues with two services of one domain."""
    joint_turns: int
    """User turns with frames of two services."""
    domains: dict[str, tuple[int, int]]
    """Numbers of single-service and multi-service dialogues of each domain."""
    oddities: dict[str, int]
    """Number of dialogues with each defect."""


FACTS = {
    "train": Split(
        single_files=43, multi_files=84, single_turns=82_588, multi_turns=247_376,
        services_per_dialogue=(5_403, 8_266, 2_185, 288), same_domain=139, joint_turns=10_798,
        domains={
            "Banks": (207, 520), "Buses": (310, 1970), "Calendar": (169, 1433), "Events": (788, 2721),
            "Flights": (985, 1762), "Homes": (268, 579), "Hotels": (457, 2896), "Media": (281, 832),
            "Movies": (292, 1325), "Music": (394, 896), "RentalCars": (215, 1370), "Restaurants": (367, 2052),
            "RideSharing": (119, 1584), "Services": (551, 1338), "Travel": (0, 1871), "Weather": (0, 951),
        },
        oddities={"lacking": 18, "overlap": 2, "swapped": 20, "category": 1, "blank": 33, "newline": 4},
    ),
    "dev": Split(
        single_files=7, multi_files=13, single_turns=11_928, multi_turns=36_798,
        services_per_dialogue=(836, 1_250, 350, 46), same_domain=0, joint_turns=1_714,
        domains={
            "Alarm": (37, 0), "Banks": (42, 252), "Buses": (44, 285), "Events": (73, 345), "Flights": (94, 297),
            "Homes": (81, 99), "Hotels": (56, 521), "Media": (46, 133), "Movies": (47, 94), "Music": (35, 161),
            "RentalCars": (39, 342), "Restaurants": (73, 263), "RideSharing": (45, 225), "Services": (44, 157),
            "Travel": (45, 238), "Weather": (35, 322),
        },
        oddities={"swapped": 2, "blank": 6, "newline": 1},
    ),
    "test": Split(
        single_files=11, multi_files=23, single_turns=16_850, multi_turns=67_744,
        services_per_dialogue=(1_331, 1_653, 1_011, 206), same_domain=71, joint_turns=3_819,
        domains={
            "Alarm": (47, 240), "Buses": (88, 438), "Events": (76, 516), "Flights": (87, 419), "Homes": (89, 157),
            "Hotels": (177, 885), "Media": (80, 284), "Messaging": (0, 298), "Movies": (132, 449), "Music": (25, 322),
            "Payment": (36, 186), "RentalCars": (64, 480), "Restaurants": (73, 390), "RideSharing": (34, 216),
            "Services": (167, 489), "Trains": (84, 266), "Travel": (24, 630), "Weather": (48, 427),
        },
        oddities={"empty": 2, "swapped": 4, "blank": 8, "newline": 1},
    ),
}  # fmt: skip


def single_layout(split: str) -> list[int]:
    """Return the number of dialogues in each single-service file at scale 1."""
    facts = FACTS[split]
    layout = []
    for number in range(1, facts.single_files + 1):
        short = 10 if number in SHORT_FILES.get(split, ()) else 0
        layout.append(PER_FILE - short - (number in GAPS.get(split, {})))
    layout[-1] += facts.services_per_dialogue[0] - sum(layout)
    return layout


def multi_layout(split: str) -> list[int]:
    """Return the number of dialogues in each multi-service file at scale 1."""
    facts = FACTS[split]
    layout = [PER_FILE] * facts.multi_files
    layout[-1] += sum(facts.services_per_dialogue[1:]) - sum(layout)
    return layout


class Casts:
    """The services that each dialogue of a split uses."""

    def __init__(self, split: str, facts: Split, scale: float, rng: random.Random) -> None:
        self.rng = rng
        self.variants = {}
        for name in SPLITS[split].split():
            self.variants.setdefault(service(name).domain, []).append(name)
        self.turn = Counter()
        counts = [scaled(count, scale, minimum=2) for count in facts.services_per_dialogue]
        self.single = self._single(counts[0], facts.domains)
        self.multi = self._multi(counts[1:], facts, scaled(facts.same_domain, scale) if facts.same_domain else 0)

    def _next(self, domain: str) -> str:
        """Return the next service of the domain, each of them in turn."""
        variants = self.variants[domain]
        self.turn[domain] += 1
        return variants[self.turn[domain] % len(variants)]

    def _single(self, count: int, domains: dict[str, tuple[int, int]]) -> list[tuple[str, ...]]:
        """Return one service for each dialogue, domain after domain.

        If there are too few dialogues, domains that are rare in dialogues with several services come first.
        """
        weights = {domain: single for domain, (single, _) in domains.items() if single}
        if count < len(weights):
            rare = sorted(weights, key=lambda domain: domains[domain][1])[:count]
            weights = {domain: weights[domain] for domain in rare}
        shares = apportion(count, tuple(weights.values()), minimum=1)
        return [(self._next(domain),) for domain, share in zip(weights, shares, strict=True) for _ in range(share)]

    def _multi(self, counts: list[int], facts: Split, same_domain: int) -> list[tuple[str, ...]]:
        """Return services per dialogue, those with many services first; the domains as often as in the release."""
        widths = [width for width, count in ((4, counts[2]), (3, counts[1]), (2, counts[0])) for _ in range(count)]
        doubled = range(counts[2], counts[2] + same_domain)
        weights = {domain: multi for domain, (_, multi) in facts.domains.items() if multi}
        total = sum(widths) - same_domain
        left = dict(zip(weights, apportion(total, tuple(weights.values()), minimum=1), strict=True))
        casts = []
        for index, width in enumerate(widths):
            is_doubled = index in doubled
            chosen = self._deal(left, width - is_doubled, len(widths) - index, is_doubled)
            names = [self._next(domain) for domain in chosen]
            if is_doubled:
                names.append(self._next(chosen[0]))
            self.rng.shuffle(names)
            casts.append(tuple(names))
        return casts

    def _deal(self, left: dict[str, int], width: int, rows: int, is_doubled: bool) -> list[str]:
        """Return different domains for one dialogue, by how many of each are left.

        The last dialogues take the domains with the most left.
        """
        chosen: list[str] = []
        if is_doubled:
            several = [domain for domain in left if len(self.variants[domain]) > 1]
            chosen.append(max(several, key=left.__getitem__))
        while len(chosen) < width:
            if rows <= 40 or max(left.values()) >= rows - 1:
                domain = max((domain for domain in left if domain not in chosen), key=left.__getitem__)
            else:
                domain = self.rng.choices(list(left), list(left.values()))[0]
            if domain not in chosen:
                chosen.append(domain)
        for domain in chosen:
            left[domain] -= 1
        return chosen


@dataclass(frozen=True)
class FilePlan:
    """The dialogues of one file, and its intended size in bytes."""

    designs: tuple[Design, ...]
    bytes: int


def plan(scale: float) -> list[PlannedFile]:
    """Plan the schemas and the dialogue files; a small release has fewer of these.

    The plan is the same for every seed.
    """
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
    """Yield number and dialogues of each file of a split."""
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
    """Return the size in bytes of each file of the release."""
    return {file.path: file.bytes for file in load_corpus("sgd").files if file.bytes}


def _path(split: str, number: int) -> str:
    return f"{split}/dialogues_{number:03d}.json"


def _file_counts(total: int, layout: list[int]) -> list[int]:
    """Return the number of dialogues in each file.

    These are the numbers of the release. Below scale 1 the last files are missing, above it more follow.
    """
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
    """Yield the number and the plan of each file.

    Files that are large in the release get more services, larger ones, and more turns.
    """
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
    """Return the relative size of an exchange of these dialogues: results have a line for each slot."""
    return 12 + sum(_slot_count(names) / len(names) for names in cast) / len(cast)


def _suffixes(split: str, number: int, count: int) -> list[int]:
    """Return the numbers after the file number in the ids of a file."""
    gap = GAPS.get(split, {}).get(number)
    return [suffix for suffix in range(count + 1) if suffix != gap][:count]


def _lengths(total: int, shortest: Sequence[int], rng: random.Random) -> list[int]:
    """Return numbers of exchanges that add up to the total.

    None is too short for its services or longer than the longest dialogue.
    """
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
    """Return the defects of dialogues by id; each defect is spread over the dialogues that can have it."""
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
    """Return, by dialogue id, the number of changes of service at which one turn is about both services."""
    joints = {design.dialogue_id: len(design.services) - 1 for design in designs}
    several = [design.dialogue_id for design in designs if len(design.services) > 1]
    excess = sum(joints.values()) - scaled(FACTS[split].joint_turns, scale)
    for position in range(excess):
        dialogue_id = several[position * len(several) // excess]
        joints[dialogue_id] = max(0, joints[dialogue_id] - 1)
    return joints


def _can_have(design: Design, oddity: str) -> bool:
    """Return whether the release's defect can occur in this dialogue."""
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


NATURAL_ROWS = 3.6
"""Mean number of entities that a search returns in a file of the expected size."""


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield the bytes of one file of the release."""
    split, _, name = planned.path.partition("/")
    if name == "schema.json":
        yield from indented_array(schema(split), final=b"\n")
        return
    rng = random_stream(seed, "sgd", planned.path)
    file: FilePlan = planned.parameters
    exchanges = sum(design.exchanges for design in file.designs)
    written, rows, separator = 0, NATURAL_ROWS, b"[\n"
    done = 0
    for design in file.designs:
        element = indented_element(DialogueWriter(design, rows, rng).write())
        yield separator + element
        separator = b",\n"
        written += len(element)
        done += design.exchanges
        rows = _steered(rows, written / done, file.bytes / exchanges)
    yield b"\n]\n"


def _steered(rows: float, actual: float, wanted: float) -> float:
    """Return more results per search while a file is smaller than it should be, fewer while it is larger."""
    return min(9.0, max(1.0, rows * (1.03 if actual < wanted else 0.97)))
