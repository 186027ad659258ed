"""Generate a BBAI release: questions in blocks of one domain, crowd votes, nineteen responses each.

The numbers of votes, gold labels and rows are those of the release (data_facts section 2); every text is invented.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import msgspec

from dialogue_warehouse.corpora.bbai.schema import AGENTS
from dialogue_warehouse.corpora.bbai.simulate_texts import MISSES, TOPICS, missed_questions, questions, response, topics
from dialogue_warehouse.corpora.generation import PlannedFile, apportion, random_stream, scaled

TIE_DOMAIN = "stock"
LEADERS = ("alexa", "google", "houndify")
"""The agents that answer most. At least one of them is accepted on 1,053 of the 1,186 answerable test questions."""
FILLER_VOTES = {
    "alexa": 950, "google": 950, "houndify": 750, "recipe": 30, "dictionary": 30, "task_manager": 30, "hotel": 25,
    "stock": 25, "math": 60, "sport": 40, "wikipedia": 130, "mobile": 160, "banking": 290, "coffee": 230,
    "event_search": 280, "jokes": 30, "reminders": 80, "adasa": 380, "covid": 380,
}  # fmt: skip
"""Relative frequency with which an agent gets one or two votes."""
FILLER_WEIGHTS = tuple(accumulate(FILLER_VOTES.values()))


@dataclass(frozen=True)
class Part:
    """Counts of the release in one split, at scale 1."""

    questions_per_domain: int
    agents: tuple[int, ...]
    """Gold labels of each agent, in the order of `AGENTS`, on questions without `none`."""
    gold_sizes: tuple[int, ...]
    """Questions with 1, 2, ... gold agents and no `none`."""
    none_chosen: tuple[int, ...]
    """Questions where only `none` has 3, 4, 5 votes."""
    undecided: tuple[int, ...]
    """Questions where no agent has more than 1 vote, 2 votes."""
    alone: tuple[int, ...]
    """Questions with this agent as the only gold one, in the order of `AGENTS`."""
    leaderless: int
    """Questions with several gold agents, none of them a leader."""
    lone_maximum: tuple[int, ...]
    """Questions with one gold agent that has 3, 4, 5 votes."""
    divided: tuple[int, ...]
    """Questions with several gold agents: the highest has 3, 4, 5 votes, another one 3."""
    agreed: tuple[int, ...]
    """Questions with several gold agents, each with 4 votes or more: the highest has 4, 5."""
    none_otherwise: tuple[int, ...]
    """Gold and undecided questions where `none` has 0, 1, 2 votes."""
    ballots_of_five: int
    """Questions with five votes in all, the smallest number."""
    votes: int
    has_tie: bool


TEST = Part(
    questions_per_domain=50,
    agents=(523, 570, 380, 5, 24, 14, 16, 8, 18, 16, 33, 25, 34, 7, 22, 5, 10, 41, 8),
    gold_sizes=(783, 271, 96, 34, 2),
    none_chosen=(100, 36, 3),
    undecided=(16, 508),
    alone=(233, 276, 143, 3, 0, 4, 2, 1, 0, 5, 2, 23, 27, 6, 13, 2, 3, 36, 4),
    leaderless=2,
    lone_maximum=(482, 261, 40),
    divided=(136, 178, 31),
    agreed=(36, 22),
    none_otherwise=(694, 750, 266),
    ballots_of_five=619,
    votes=12_885,
    has_tie=True,
)
TRAIN = Part(
    questions_per_domain=100,
    agents=(1093, 1197, 725, 15, 41, 20, 22, 20, 29, 26, 53, 38, 58, 25, 37, 5, 21, 81, 13),
    gold_sizes=(1574, 584, 191, 46, 4),
    none_chosen=(196, 70, 6),
    undecided=(31, 998),
    alone=(509, 594, 224, 7, 2, 8, 2, 5, 2, 6, 7, 28, 46, 18, 26, 2, 10, 72, 6),
    leaderless=9,
    lone_maximum=(970, 524, 80),
    divided=(278, 365, 64),
    agreed=(73, 45),
    none_otherwise=(1389, 1500, 539),
    ballots_of_five=1_238,
    votes=25_770,
    has_tie=False,
)
PARTS = {"train": TRAIN, "test": TEST}
"""The counts of train.json are known from its classifier file only; its votes follow test.json's."""
POSITIVES = (
    29, 29, 38, 36, 41, 30, 38, 28, 38, 39, 29, 10, 28, 29, 24, 32, 38, 41, 23, 37, 38, 36, 31, 32, 20, 33, 34, 21, 23,
    42, 36, 34, 29, 36, 40, 33, 31,
)  # fmt: skip
"""Answerable test questions of each domain."""


@dataclass
class Ballot:
    """The votes on one question."""

    kind: str
    votes: dict[str, int]

    @property
    def human(self) -> list[str]:
        """The options with more than two votes, in the order of the votes; `none` if there is no such option."""
        return [option for option, votes in self.votes.items() if votes > 2] or ["none"]

    @property
    def total(self) -> int:
        """The number of all votes, including those for none."""
        return sum(self.votes.values())


def ballots(part: Part, per_domain: int, rng: random.Random) -> list[Ballot]:
    """Return the votes on each question of a part, in file order."""
    cast = [Ballot(kind, dict.fromkeys(("none", *AGENTS), 0)) for kind in _kinds(part, per_domain, rng)]
    _vote_gold(part, [ballot for ballot in cast if ballot.kind == "gold"], rng)
    _vote_none(part, [ballot for ballot in cast if ballot.kind == "none"])
    for ballot in cast:
        if ballot.kind == "tie":
            ballot.votes.update(none=3, google=3)
    fillers = Fillers(cast, rng)
    _vote_undecided(part, cast, fillers)
    _fill(part, cast, fillers)
    return cast


def _kinds(part: Part, per_domain: int, rng: random.Random) -> list[str]:
    """Return `gold`, `none`, `undecided` or `tie` for each question."""
    share = per_domain / part.questions_per_domain
    wanted = scaled(sum(part.gold_sizes), share)
    positives = apportion(wanted, POSITIVES)
    tied = list(TOPICS).index(TIE_DOMAIN)
    if positives[tied] >= per_domain:
        positives[tied] -= 1
        positives[min(range(len(positives)), key=positives.__getitem__)] += 1
    negatives = len(TOPICS) * per_domain - wanted - part.has_tie
    none, undecided = apportion(negatives, (sum(part.none_chosen), sum(part.undecided)))
    others = ["none"] * none + ["undecided"] * undecided
    rng.shuffle(others)
    kinds = []
    for domain, count in enumerate(positives):
        block = ["gold"] * count
        if part.has_tie and domain == tied:
            block.append("tie")
        block += [others.pop() for _ in range(per_domain - len(block))]
        rng.shuffle(block)
        kinds += block
    return kinds


def _spread(counts: tuple[int, ...], total: int, first: int = 0) -> list[int]:
    """Return `total` values first, first + 1, ..., in proportion to the counts."""
    shares = apportion(total, counts)
    return [first + index for index, share in enumerate(shares) for _ in range(share)]


def _vote_gold(part: Part, gold: list[Ballot], rng: random.Random) -> None:
    """Assign the agents to the questions, then the votes: as many of each kind as the release has."""
    sizes = _spread(part.gold_sizes, len(gold), first=1)
    rng.shuffle(sizes)
    dealt = _deal(part, sizes, rng)
    lone, several = ([index for index, size in enumerate(sizes) if (size > 1) == many] for many in (False, True))
    for index, votes in zip(lone, _spread(part.lone_maximum, len(lone), first=3), strict=True):
        gold[index].votes[dealt[index][0]] = votes
    rng.shuffle(several)
    several.sort(key=lambda index: sizes[index] > 3)
    for index, (highest, lowest) in zip(several, _majorities(part, len(several), rng), strict=True):
        first, second, *others = dealt[index]
        gold[index].votes.update({first: highest, second: lowest})
        gold[index].votes.update({agent: lowest if others[1:] else rng.randint(lowest, highest) for agent in others})


def _deal(part: Part, sizes: list[int], rng: random.Random) -> list[list[str]]:
    """Return the gold agents of each question.

    Each agent has as many questions, and as many with it alone, as in the release.
    """
    total, lone = sum(sizes), sizes.count(1)
    alone = apportion(lone, part.alone)
    shared = [count - single for count, single in zip(part.agents, part.alone, strict=True)]
    labels = apportion(total - lone, shared)
    singles = [agent for agent, count in zip(AGENTS, alone, strict=True) for _ in range(count)]
    rng.shuffle(singles)
    dealt: list[list[str]] = [[singles.pop()] if size == 1 else [] for size in sizes]
    doubles = [index for index, size in enumerate(sizes) if size == 2]
    leaderless = set(doubles[: round(part.leaderless * len(sizes) / sum(part.gold_sizes))])
    for count, agent in sorted(zip(labels, AGENTS, strict=True), reverse=True):
        closed = leaderless if agent in LEADERS else ()
        free = [index for index, size in enumerate(sizes) if len(dealt[index]) < size and index not in closed]
        rng.shuffle(free)
        free.sort(key=lambda index: len(dealt[index]) - sizes[index])
        for index in free[:count]:
            dealt[index].append(agent)
    return dealt


def _majorities(part: Part, count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Return the highest and lowest votes of the gold agents of questions with several; those that agree come first."""
    pairs = ((4, 4), (5, 4), (3, 3), (4, 3), (5, 3))
    shares = apportion(count, part.agreed + part.divided)
    majorities = [pair for pair, share in zip(pairs, shares, strict=True) for _ in range(share)]
    agreed, divided = majorities[: sum(shares[:2])], majorities[sum(shares[:2]) :]
    rng.shuffle(divided)
    return agreed + divided


def _vote_none(part: Part, chosen: list[Ballot]) -> None:
    for ballot, votes in zip(chosen, _spread(part.none_chosen, len(chosen), first=3), strict=True):
        ballot.votes["none"] = votes


class Fillers:
    """Dealer of the votes that decide nothing.

    An agent that understands few questions gets such votes on few questions only.
    """

    def __init__(self, cast: list[Ballot], rng: random.Random) -> None:
        self.rng = rng
        self.left = {agent: len(cast) - missed_questions(agent, len(cast)) for agent in MISSES}
        for agent in MISSES:
            self.left[agent] -= sum(ballot.votes[agent] > 0 for ballot in cast)

    def vote(self, ballot: Ballot, votes: int, limit: int = 2) -> None:
        """Give this number of further votes to an agent that stays within the limit with them."""
        while True:
            agent = self.rng.choices(AGENTS, cum_weights=FILLER_WEIGHTS)[0]
            known = ballot.votes[agent]
            if known + votes > limit:
                continue
            if not known and agent in self.left:
                if self.left[agent] <= 0:
                    continue
                self.left[agent] -= 1
            ballot.votes[agent] += votes
            return


def _vote_undecided(part: Part, cast: list[Ballot], fillers: Fillers) -> None:
    """Give votes on questions without a winner, and votes for none on questions with one."""
    undecided = [ballot for ballot in cast if ballot.kind == "undecided"]
    highest = _spread(part.undecided, len(undecided), first=1)
    gold = [ballot for ballot in cast if ballot.kind == "gold"]
    none_votes = _spread(part.none_otherwise, len(undecided) + len(gold))
    low = highest.count(1)
    few, rest = none_votes[:low], none_votes[low:]
    fillers.rng.shuffle(rest)
    for ballot, votes in zip(undecided + gold, few + rest, strict=True):
        ballot.votes["none"] = votes
    for ballot, votes in zip(undecided, highest, strict=True):
        if votes == 2:
            fillers.vote(ballot, 2)


def _fill(part: Part, cast: list[Ballot], fillers: Fillers) -> None:
    """Give single votes to further agents, until each question and the whole have as many votes as in the release."""
    rng = fillers.rng
    share = len(cast) / (part.questions_per_domain * len(TOPICS))
    totals = [max(5, ballot.total) for ballot in cast]
    order = list(range(len(cast)))
    rng.shuffle(order)
    order.sort(key=lambda index: cast[index].votes["none"] != 5)
    fives = [index for index in order if totals[index] == 5][: scaled(part.ballots_of_five, share)]
    lowest = set(fives)
    growing = [index for index in order if index not in lowest]
    for index in growing:
        totals[index] = max(6, totals[index])
    totals[growing[-1]] = 19
    missing = scaled(part.votes, share) - sum(totals)
    while missing > 0:
        index = growing[int(rng.random() ** 1.4 * (len(growing) - 1))]
        if totals[index] < 18:
            totals[index] += 1
            missing -= 1
    for ballot, total in zip(cast, totals, strict=True):
        limit = 1 if ballot.kind == "undecided" and max(ballot.votes.values()) < 2 else 2
        for _ in range(total - ballot.total):
            fillers.vote(ballot, 1, limit)


DESCRIPTION_SENTENCES = (
    "A voice assistant that answers questions about {0}.",
    "It can also keep lists, read the news and talk about {0} with the whole family.",
    "Ask it early and ask it often; {0} is what it knows best.",
)
DESCRIPTION_LENGTHS = (20, 21, 48, 12, 1, 3, 2, 1, 1, 1, 4, 1, 1, 1, 2, 1, 1, 1, 3)
"""Number of sentences in the description of each agent; these numbers differ as much in the release."""
EMPTY_RESPONSES = {"covid": 20, "reminders": 15, "event_search": 9}
NEWLINE_RESPONSES = 60


def plan(scale: float) -> list[PlannedFile]:
    """Plan the five files of the release: name, size in bytes, and the scale if the file depends on it."""
    files = [PlannedFile("descriptions.json", 9_000)]
    for name, part in PARTS.items():
        weight = scaled(part.questions_per_domain, scale) * len(TOPICS) * 2_040
        files.append(PlannedFile(f"{name}.json", weight, scale))
        files.append(PlannedFile(f"{name}_classifier.json", weight // 25, scale))
    return files


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield the bytes of one file of the release."""
    if planned.path == "descriptions.json":
        yield _indented(_descriptions())
        return
    part, _, rest = planned.path.removesuffix(".json").partition("_")
    size = scaled(PARTS[part].questions_per_domain, planned.parameters)
    cast = ballots(PARTS[part], size, random_stream(seed, "bbai", part, "ballots"))
    first = 0 if part == "train" else scaled(TRAIN.questions_per_domain, planned.parameters)
    asked = questions(part, [ballot.kind == "gold" for ballot in cast], first)
    if rest:
        answered = [index for index, ballot in enumerate(cast) if ballot.kind == "gold"]
        yield _indented([[asked[index][1], cast[index].human] for index in answered])
    else:
        yield from _question_file(asked, cast, random_stream(seed, "bbai", part, "responses"))


def _question_file(asked: list[tuple[str, str]], cast: list[Ballot], rng: random.Random) -> Iterator[bytes]:
    """Yield one object, a member for each question."""
    newlines = set(rng.sample(range(len(asked)), scaled(NEWLINE_RESPONSES, len(asked) / 1_850)))
    empty = _unvoted(cast, {agent: scaled(count, len(cast) / 1_850) for agent, count in EMPTY_RESPONSES.items()}, rng)
    missed = _unvoted(cast, {agent: missed_questions(agent, len(cast)) for agent in MISSES}, rng)
    yield b"{\n"
    for index, ((domain, text), ballot) in enumerate(zip(asked, cast, strict=True)):
        topic = rng.choice(topics(domain))
        responses = {
            agent: response(agent, topic, ballot.votes[agent] > 0, (index, agent) in missed, rng) for agent in AGENTS
        }
        responses |= {agent: "" for agent in AGENTS if (index, agent) in empty}
        if index in newlines:
            responses["google"] += "\nSay next for more."
        votes = {"human_vote": {**ballot.votes, "intent": 0}}
        member = _indented({text: votes | responses | {"intent": domain, "human": ballot.human}})
        yield b",\n" * (index > 0) + member[2:-2]
    yield b"\n}"


def _unvoted(cast: list[Ballot], counts: dict[str, int], rng: random.Random) -> set[tuple[int, str]]:
    """Choose this number of questions for each agent on which it has no vote."""
    chosen = set()
    for agent, count in counts.items():
        unvoted = [index for index, ballot in enumerate(cast) if ballot.votes[agent] == 0]
        chosen |= {(index, agent) for index in rng.sample(unvoted, min(count, len(unvoted)))}
    return chosen


def _descriptions() -> dict[str, str]:
    """Return a description of each agent; sport is called sports here, as in the release."""
    described = {}
    for agent, sentences in zip(AGENTS, DESCRIPTION_LENGTHS, strict=True):
        texts = (DESCRIPTION_SENTENCES[index % 3].format(agent.replace("_", " ")) for index in range(sentences))
        described["sports" if agent == "sport" else agent] = " ".join(texts)
    return described


def _indented(value: object) -> bytes:
    """Return JSON as the release writes it: indented by four, in ASCII, without a final newline."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=4).decode()
    return re.sub(r"[^\x00-\x7f]", lambda match: f"\\u{ord(match[0]):04x}", text).encode()
