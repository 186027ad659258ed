"""Generate a MutualFriends release: two people, a list of friends for each, one friend in both lists.

Counts are those of the release (data_facts section 3, verification_targets 2.4); every name and message is invented.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from dialogue_warehouse.corpora.generation import PlannedFile, apportion, random_stream, scaled

DIALOGUES = {"train": (8_967, 33_178_253), "dev": (1_083, 4_001_596), "test": (1_107, 4_094_729)}
"""Dialogues and bytes of each file at scale 1, by the file's stem."""
COMPLETED, EVENTS, SECONDS = 9_041, 103_158, 824_358
"""Totals of all three files: dialogues with reward 1, their events (11.41 each), and the seconds from their first to
their last events (91.18 each)."""
SILENT_SHARE = 0.007
"""Share of dialogues without any event."""
FIRST_TIME = 1_480_736_443
ALPHAS = (0.3, 1.0, 3.0)
VALUES_BY_ALPHA = {0.3: 6, 1.0: 8, 3.0: 12}
"""Number of different values of an attribute in one dialogue: the smaller alpha, the fewer."""


def _combined(firsts: str, seconds: str, form: str) -> tuple[str, ...]:
    return tuple(form.format(first, second).rstrip() for first in firsts.split("|") for second in seconds.split("|"))


ATTRIBUTES = {
    "Name": ("name", _combined("Ada|Ben|Cleo|Dario|Elin|Femi|Greta|Hugo|Ines|Jonas", "|Marie|Lee|Jo", "{} {}")),
    "School": (
        "school",
        (
            *_combined("Eastbrook|Fairlake|Northfield|St. Anne's", "Maple Bay|Old Town|Harbor", "University of {}, {}"),
            *_combined("Lakeside|Redwood|Prairie|O'Dell", "State College|Institute of Arts & Letters", "{} {}"),
        ),
    ),
    "Major": (
        "major",
        (
            *_combined("Marine|Applied|Urban|Medieval|Rural", "Biology|Statistics|Planning|History", "{} {}"),
            *("Leather Crafts", "Film, Radio & Stage", "Women's Studies", "Hydrology", "Glass Design"),
        ),
    ),
    "Company": (
        "company",
        (
            *_combined("Baker|O'Malley|Quill|Sato|Vega", "Sons|Daughters|Partners", "{} & {}"),
            *_combined("Rosie's|Captain's|Granny's|Tony's", "Diner|Hardware|Cinema", "{} {}"),
            *("Blue Anvil", "Paper, Pens and More", "Northern Ferry Lines", "Oak Street Bank"),
        ),
    ),
    "Hobby": (
        "hobby",
        (
            "Beekeeping", "Kite flying", "Chess", "Pottery", "Trail running", "Bird watching", "Origami", "Juggling",
            "Model trains", "Archery", "Ice skating", "Cooking", "Stargazing", "Knitting", "Sailing", "Rock balancing",
            "Metal detecting", "Geocaching",
        ),
    ),
    "Time Preference": ("time_pref", ("morning", "afternoon", "evening")),
    "Location Preference": ("loc_pref", ("indoor", "outdoor")),
}  # fmt: skip
"""Machine name and values of each attribute."""
VARIED = ("Name", "School", "Major", "Company", "Hobby")
PREFERENCES = ("Time Preference", "Location Preference")
ATTRIBUTE_SETS = ((1, 2), (2, 1), (2, 2), (3, 1), (2, 1))
"""Numbers of varied attributes and of preferences in a scenario; together three or four."""
MESSAGES = (
    "hi there",
    "Hello!",
    "do you have anyone with {}?",
    "I have {count} friends with {}",
    "any {}",
    "no, none of mine. how about {}?",
    "most of mine are {}",
    "only one with {}",
    "yes, {count} of them",
    "{} or {other}?",
    "my {} friend also has {other}",
    "nope",
    "ok let's try {}",
    "is it the one with {} and {other}?",
    "I have two like that, which one",
    "sorry, misread that",
    "lots of {} here, what about yours?",
    "let me look",
    "select {}, {other}",
    "Great, thanks!",
)
CODE = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class FilePlan:
    """Numbers of dialogues of a file, of silent and completed ones, and total length of the completed ones."""

    dialogues: int
    silent: int
    completed: int
    events: int
    seconds: int


def plan(scale: float) -> list[PlannedFile]:
    """Plan the three files of the release: name, size in bytes, and how many dialogues succeed, fail or are silent."""
    counts = {name: scaled(dialogues, scale, minimum=6) for name, (dialogues, _) in DIALOGUES.items()}
    completed = apportion(round(COMPLETED * sum(counts.values()) / 11_157), tuple(counts.values()))
    events, seconds = (
        apportion(round(total * sum(completed) / COMPLETED), completed, minimum=2) for total in (EVENTS, SECONDS)
    )
    files = []
    for (name, count), *course in zip(counts.items(), completed, events, seconds, strict=True):
        dialogues, size = DIALOGUES[name]
        parameters = FilePlan(count, scaled(count, SILENT_SHARE), *course)
        files.append(PlannedFile(f"{name}.json", size * count // dialogues, parameters))
    return files


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield one array of dialogues, on one line."""
    rng = random_stream(seed, "mutualfriends", planned.path)
    counts: FilePlan = planned.parameters
    outcomes = ["completed"] * counts.completed + ["silent"] * counts.silent
    outcomes += ["failed"] * (counts.dialogues - len(outcomes))
    rng.shuffle(outcomes)
    courses = _courses(counts, rng)
    start = FIRST_TIME
    separator = b"["
    for outcome in outcomes:
        start += rng.randrange(60)
        course = courses.pop() if outcome == "completed" else _failed_course(outcome, rng)
        element = msgspec.json.encode(_dialogue(outcome, start, course, rng))
        yield separator + msgspec.json.format(element, indent=0)
        separator = b", "
    yield b"]"


def _courses(counts: FilePlan, rng: random.Random) -> list[tuple[int, int]]:
    """Return events and seconds of each completed dialogue; both add up to the file's numbers."""
    events = apportion(counts.events, [rng.uniform(0.3, 1.7) for _ in range(counts.completed)], minimum=2)
    seconds = apportion(counts.seconds, [(count - 1) * rng.uniform(0.6, 1.4) for count in events], minimum=1)
    return list(zip(events, seconds, strict=True))


def _failed_course(outcome: str, rng: random.Random) -> tuple[int, int]:
    """Return events and seconds of a dialogue that does not reach its goal, or that has no events."""
    count = 0 if outcome == "silent" else rng.choice((1, 3, 5, 7, 9, 10, 11, 13, 18))
    return count, sum(rng.randint(2, 14) for _ in range(count - 1))


def _dialogue(outcome: str, start: int, course: tuple[int, int], rng: random.Random) -> dict:
    """Return one dialogue, with the keys in the order of the release."""
    attributes, knowledge = _knowledge(rng)
    code = "S_" + "".join(rng.choices(CODE, k=16))
    scenario = {
        "attributes": [{"unique": False, "value_type": ATTRIBUTES[name][0], "name": name} for name, _ in attributes],
        "kbs": knowledge.items,
        "uuid": code,
        "alphas": [alpha for _, alpha in attributes],
    }
    return {
        "uuid": f"C_{rng.getrandbits(128):032x}",
        "scenario": scenario,
        "scenario_uuid": code,
        "agents": {"1": "human", "0": "human"},
        "outcome": {"reward": int(outcome == "completed")},
        "events": _events(outcome, knowledge, start, course, rng) if course[0] else [],
    }


@dataclass
class Knowledge:
    """The lists of both people, and the position of the shared friend in each."""

    items: list[list[dict[str, str]]]
    shared: tuple[int, int]


def _knowledge(rng: random.Random) -> tuple[list[tuple[str, float]], Knowledge]:
    """Return attributes with their alphas, and two lists of equal length with exactly one friend in common."""
    varied, preferences = rng.choice(ATTRIBUTE_SETS)
    names = rng.sample(VARIED, varied) + rng.sample(PREFERENCES, preferences)
    attributes = [(name, rng.choice(ALPHAS)) for name in names]
    pools = []
    for name, alpha in attributes:
        values = ATTRIBUTES[name][1]
        pools.append(rng.sample(values, min(len(values), VALUES_BY_ALPHA[alpha])))
    size = rng.randint(5, 12)
    while _combinations(pools) < 2 * size - 1:
        size -= 1
    friends = [_friend(number, pools) for number in rng.sample(range(_combinations(pools)), 2 * size - 1)]
    mine, yours = friends[:size], friends[size:]
    shared = rng.randrange(size), rng.randrange(size)
    yours.insert(shared[1], mine[shared[0]])
    order = list(range(len(names)))
    rng.shuffle(order)
    items = [[_item(friend, names, order) for friend in friends] for friends in (mine, yours)]
    if rng.random() < 0.2:
        items[1][0] = dict(reversed(items[1][0].items()))
    return attributes, Knowledge(items, shared)


def _combinations(pools: list[list[str]]) -> int:
    count = 1
    for pool in pools:
        count *= len(pool)
    return count


def _friend(number: int, pools: list[list[str]]) -> tuple[str, ...]:
    """Return the combination of values with this number."""
    values = []
    for pool in pools:
        number, index = divmod(number, len(pool))
        values.append(pool[index])
    return tuple(values)


def _item(friend: tuple[str, ...], names: list[str], order: list[int]) -> dict[str, str]:
    """Return a friend in the key order of the dialogue, which is not the order of its attributes."""
    return {names[index]: friend[index] for index in order}


def _events(outcome: str, knowledge: Knowledge, start: int, course: tuple[int, int], rng: random.Random) -> list[dict]:
    """Return messages, with the selections among and after them that lead to the outcome."""
    count, seconds = course
    moves = _moves(outcome, knowledge, count, rng)
    gaps = apportion(seconds, [rng.randint(2, 14) for _ in moves[1:]]) if seconds else []
    events = []
    for (agent, item), gap in zip(moves, [0, *gaps], strict=True):
        start += gap
        data = _message(knowledge.items[agent], rng) if item is None else _selected(knowledge.items[agent][item], rng)
        action = "message" if item is None else "select"
        events.append({"action": action, "start_time": None, "data": data, "agent": agent, "time": f"{start}.0"})
    return events


def _moves(outcome: str, knowledge: Knowledge, count: int, rng: random.Random) -> list[tuple[int, int | None]]:
    """Return `count` pairs of an agent and the item that it selects; the item is None for a message."""
    agent = rng.randrange(2)
    last: list[tuple[int, int | None]] = []
    if outcome == "completed":
        last = [(agent, knowledge.shared[agent]), (1 - agent, knowledge.shared[1 - agent])]
    elif rng.random() < 0.75:
        last = [(agent, (knowledge.shared[agent] + 1) % len(knowledge.items[agent]))]
    may_select = len(last) > 0
    moves: list[tuple[int, int | None]] = []
    for _ in range(count - len(last)):
        selects = may_select and rng.random() < 0.08
        moves.append((agent, rng.randrange(len(knowledge.items[agent])) if selects else None))
        agent = 1 - agent if rng.random() < 0.75 else agent
    return moves + last


def _selected(item: dict[str, str], rng: random.Random) -> dict[str, str]:
    return dict(reversed(item.items())) if rng.random() < 0.15 else item


def _message(items: list[dict[str, str]], rng: random.Random) -> str:
    values = list(rng.choice(items).values())
    count = 2 + len(items) % 5
    return rng.choice(MESSAGES).format(values[0].lower(), other=values[-1], count=count)
