"""What the SGD release counts: files, turns, services, domains and defects of each split (data_facts section 6)."""

from __future__ import annotations

from dataclasses import dataclass

PER_FILE = 128
"""Dialogues of a full file."""
SHORT_FILES = {"train": range(35, 44)}
"""Single-service files that are ten dialogues short of full."""
GAPS = {"train": {20: 93, **dict.fromkeys((*range(21, 30), 35), 60)}}
"""Split -> file number -> the number left out in its ids; dev and test have these ids, which train has not."""
EMPTY = ("3_00055", "6_00009")
"""Dialogues of test with an empty utterance."""


@dataclass(frozen=True)
class Split:
    """What the release counts in one split, at scale 1."""

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
    """Domain -> single-service and multi-service dialogues."""
    oddities: dict[str, int]
    """Defect -> dialogues that have it."""


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
    """Dialogues in each single-service file at scale 1."""
    facts = FACTS[split]
    layout = []
    for number in range(1, facts.single_files + 1):
        short = 10 if number in SHORT_FILES.get(split, ()) else 0
        layout.append(PER_FILE - short - (number in GAPS.get(split, {})))
    layout[-1] += facts.services_per_dialogue[0] - sum(layout)
    return layout


def multi_layout(split: str) -> list[int]:
    """Dialogues in each multi-service file at scale 1."""
    facts = FACTS[split]
    layout = [PER_FILE] * facts.multi_files
    layout[-1] += sum(facts.services_per_dialogue[1:]) - sum(layout)
    return layout
