"""Generates a BBAI release: questions in blocks of one domain, crowd votes, nineteen responses each.

The numbers of votes, gold labels and rows are those of the release (data_facts section 2); every text is invented.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from pipelines.corpora.bbai.schema import AGENTS
from pipelines.simulating import PlannedFile, apportion, random_stream, scaled

TIE_DOMAIN = "stock"
TOPICS = {
    "recipe": "lentil soup|pumpkin pie|fried rice|vegan lasagna|banana bread",
    "alarm": "six in the morning|my yoga class|the school run|a short nap|sunday brunch",
    "nutrition": "a boiled egg|brown rice|an avocado|oat milk|grilled salmon",
    "music": "a slow jazz record|some folk guitar|that summer hit|a string quartet|quiet piano",
    "dictionary": "ephemeral|gregarious|to meander|stoic|serendipity",
    "travel_suggestion": "Lisbon in spring|a week in Kyoto|the Scottish coast|a desert trip|northern Italy",
    "restaurant_suggestion": "ramen near me|a quiet bistro|tapas downtown|a cheap curry|brunch with kids",
    "arithmetic": "12 times 17|the square root of 225|a third of 96|480 divided by 16|7 to the third power",
    "currency_convert": "40 euros|200 yen|75 dollars|1500 pesos|90 francs",
    "reminders": "the dentist|watering the ferns|my sister's birthday|the parking meter|the library books",
    "event_search": "a jazz night|a flea market|a poetry slam|the light festival|an open studio",
    "translate": "good evening in Danish|thank you in Korean|bread in Latin|where is it in Greek|sorry in Thai",
    "timer": "nine minutes|half an hour|the pasta|forty seconds|a steak",
    "covid": "the vaccine|wearing a mask|the incubation time|a rapid test|travel rules",
    "traffic": "the ring road|my way to work|the harbor bridge|route nine|the airport tunnel",
    "knowledge": "the tallest tree|the first printing press|the deepest lake|black holes|the speed of light",
    "hotel": "a room by the lake|a hostel in Porto|a suite with a bath|two nights in Ghent|a cabin",
    "directions": "the city library|the nearest pharmacy|the north station|the botanic garden|pier four",
    "flight_info": "the 9 am to Oslo|my flight tomorrow|gate changes in Denver|the red eye|luggage rules",
    "time": "Nairobi|Lima|Reykjavik|Auckland|Seoul",
    "unit_convert": "14 miles|3 gallons|80 kilos|five acres|72 inches",
    "jokes": "penguins|accountants|a broken clock|cheese|the moon",
    "sports": "the city derby|last night's final|the tennis open|the rowing cup|the home team",
    "mobile": "my data plan|roaming in Spain|a new number|my last invoice|a family plan",
    "coffee_shop": "a flat white|two espressos|an iced latte|a decaf to go|a large mocha",
    "weather": "Bergen|the weekend|tomorrow night|the mountain pass|the coast",
    "date": "next Easter|the second Friday of May|ten days from now|midsummer|the last leap year",
    "banking": "my savings|a transfer to Lena|the card limit|last month's fees|a lost card",
    "calendar": "the team lunch|a free afternoon|the budget meeting|next week|a call with Omar",
    "geography": "the longest river|the capital of Bhutan|islands of Chile|the Alps|the Sahara",
    "rand": "a coin|a number up to fifty|two dice|a card|a letter",
    "auto": "the tire pressure|an oil change|the brake light|winter tires|the fuel gauge",
    "stock": "the paper mill shares|the solar index|that bank's stock|the tech fund|copper futures",
    "tip": "a bill of 64|a haircut|18 percent of 45|the taxi ride|dinner for six",
    "wikipedia": "Ada Lovelace|the Hanseatic League|origami|plate tectonics|the oboe",
    "age": "the mayor|that famous cellist|the oldest tortoise|the prince|my favorite author",
    "todo": "buying stamps|cleaning the filter|calling the plumber|the tax form|packing",
}
"""Domain, in the order of the release's blocks -> what its questions are about."""
OPENINGS = (
    "tell me about {}",
    "what about {}",
    "i need help with {}",
    "Can you look into {}",
    "How do you handle {}",
    "please check {}",
    "Find out something on {}",
    "what should i know about {}",
    "Anything new on {}",
    "give me details for {}",
)
ENDINGS = ("", "?", " today", " for me please", " right now?", " before I leave", ", thanks")
SPECIAL_QUESTIONS = (
    "What’s the best answer for {}",
    "What do people mean by “{}”",
    "I’ve got £20, is that enough for {}",
    "Who’s asking about {}",
    "Isn’t “{}” a thing",
    "Is {} below £5",
)
"""The few questions with characters beyond ASCII, one in each of the first domains."""
FALLBACKS = {
    "alexa": "sorry this cannot be done here",
    "google": "sorry I have no answer to that yet",
    "mobile": "Which plan do you mean, prepaid or postpaid?",
    "banking": "Is that about the savings or the checking account?",
    "coffee": "What size may it be?",
    "event_search": "That was not clear. Could you repeat it?",
    "jokes": "Pardon me, once more?",
    "reminders": "Could you say that again?",
    "adasa": "Out of scope!",
    "covid": "Please keep your distance, wash your hands and stay at home whenever you can; every careful day protects "
    "those around you. Follow the advice of your local health office, look after your neighbors, and call a doctor by "
    "telephone first when you feel unwell. Together we will get through this.",
}
"""What an agent says to a question that it does not understand; the others say `MISSED`."""
MISSED = "Didn't get that!"
TALKATIVE = {"alexa": 0.93, "google": 0.87, "houndify": 0.54, "wikipedia": 0.05, "adasa": 0.3, "covid": 0.2}
"""Share of unvoted questions to which an agent has something of its own to say."""
ANSWERS = (
    "Here is what I found about {}, most people seem to agree on the first entry.",
    "According to my notes, {} is best looked up twice, because the numbers changed not long ago.",
    "{} is ready for you, just say next to hear the following one.",
    "I put {} at the top of the list and will let you know when there is something new about it.",
    "From an encyclopedia: {} has a long history, and the details depend on where and when you ask.",
    "Got it, {}.",
)
FILLER_VOTES = {
    "alexa": 950, "google": 950, "houndify": 750, "recipe": 30, "dictionary": 30, "task_manager": 30, "hotel": 25,
    "stock": 25, "math": 60, "sport": 40, "wikipedia": 130, "mobile": 160, "banking": 290, "coffee": 230,
    "event_search": 280, "jokes": 30, "reminders": 80, "adasa": 380, "covid": 380,
}  # fmt: skip
"""How often an agent gets one or two votes, in relation to the others."""
DESCRIPTION_SENTENCES = (
    "A voice assistant that answers questions about {0}.",
    "It can also keep lists, read the news and talk about {0} with the whole family.",
    "Ask it early and ask it often; {0} is what it knows best.",
)
DESCRIPTION_LENGTHS = (20, 21, 48, 12, 1, 3, 2, 1, 1, 1, 4, 1, 1, 1, 2, 1, 1, 1, 3)
"""Sentences in the description of each agent, which differ as widely in the release."""


@dataclass(frozen=True)
class Part:
    """What the release counts in one split, at scale 1."""

    questions_per_domain: int
    agents: tuple[int, ...]
    """Gold labels of each agent, in the order of `AGENTS`, on questions without `none`."""
    gold_sizes: tuple[int, ...]
    """Questions with 1, 2, ... gold agents and no `none`."""
    none_chosen: tuple[int, ...]
    """Questions where only `none` has 3, 4, 5 votes."""
    undecided: tuple[int, ...]
    """Questions where nobody has more than 1 vote, 2 votes."""
    gold_maximum: tuple[int, ...]
    """Questions with a gold agent whose highest number of votes is 3, 4, 5."""
    none_otherwise: tuple[int, ...]
    """Gold and undecided questions where `none` has 0, 1, 2 votes."""
    ballots_of_five: int
    """Questions with five votes in all, the fewest there are."""
    votes: int
    has_tie: bool


TEST = Part(
    questions_per_domain=50,
    agents=(523, 570, 380, 5, 24, 14, 16, 8, 18, 16, 33, 25, 34, 7, 22, 5, 10, 41, 8),
    gold_sizes=(783, 271, 96, 34, 2),
    none_chosen=(100, 36, 3),
    undecided=(16, 508),
    gold_maximum=(618, 475, 93),
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
    gold_maximum=(1250, 961, 188),
    none_otherwise=(1389, 1500, 539),
    ballots_of_five=1_238,
    votes=25_770,
    has_tie=False,
)
PARTS = {"train": TRAIN, "test": TEST}
"""The split of train.json is documented by its classifier file only; its votes follow test.json's."""
POSITIVES = (
    29, 29, 38, 36, 41, 30, 38, 28, 38, 39, 29, 10, 28, 29, 24, 32, 38, 41, 23, 37, 38, 36, 31, 32, 20, 33, 34, 21, 23,
    42, 36, 34, 29, 36, 40, 33, 31,
)  # fmt: skip
"""Answerable test questions of each domain."""
SHARED_QUESTIONS = 30
"""Domains in which a test question repeats a train question but for case and punctuation."""
EMPTY_RESPONSES = {"covid": 20, "reminders": 15, "event_search": 9}
NEWLINE_RESPONSES = 60


@dataclass
class Ballot:
    """The votes on one question."""

    kind: str
    votes: dict[str, int]

    @property
    def human(self) -> list[str]:
        """The options with more than two votes, in the order of the votes; `none` where there is no such option."""
        return [option for option, votes in self.votes.items() if votes > 2] or ["none"]

    @property
    def total(self) -> int:
        """All votes, those for none included."""
        return sum(self.votes.values())


def plan(scale: float) -> list[PlannedFile]:
    """The five files of the release."""
    files = [PlannedFile("descriptions.json", 9_000)]
    for name, part in PARTS.items():
        weight = scaled(part.questions_per_domain, scale) * len(TOPICS) * 2_040
        files.append(PlannedFile(f"{name}.json", weight, scale))
        files.append(PlannedFile(f"{name}_classifier.json", weight // 25, scale))
    return files


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """One file of the release."""
    if planned.path == "descriptions.json":
        yield _indented(_descriptions())
        return
    part, _, rest = planned.path.removesuffix(".json").partition("_")
    size = scaled(PARTS[part].questions_per_domain, planned.parameters)
    asked = questions(part, size)
    cast = ballots(PARTS[part], size, random_stream(seed, "bbai", part, "ballots"))
    if rest:
        answered = [index for index, ballot in enumerate(cast) if ballot.kind == "gold"]
        yield _indented([[asked[index][1], cast[index].human] for index in answered])
    else:
        yield from _question_file(asked, cast, random_stream(seed, "bbai", part, "responses"))


def questions(part: str, per_domain: int) -> list[tuple[str, str]]:
    """Domain and text of each question, in file order; no text occurs twice in a release."""
    train = scaled(TRAIN.questions_per_domain, per_domain / PARTS[part].questions_per_domain)
    first = 0 if part == "train" else train
    asked = []
    for position, domain in enumerate(TOPICS):
        texts = [_question(domain, number) for number in range(first, first + per_domain)]
        if position < len(SPECIAL_QUESTIONS):
            texts[-1] = SPECIAL_QUESTIONS[position].format(_topics(domain)[part == "test"])
        elif part == "test" and position < len(SPECIAL_QUESTIONS) + SHARED_QUESTIONS:
            texts[0] = _question(domain, 0).upper().rstrip("?") + "!"
        asked.extend((domain, text) for text in texts)
    return asked


def _question(domain: str, number: int) -> str:
    """The text of a domain's question of this number, another for each number."""
    topics = _topics(domain)
    number, topic = divmod(number, len(topics))
    number, opening = divmod(number, len(OPENINGS))
    number, ending = divmod(number, len(ENDINGS))
    again = f" for the {number + 1}. time" if number else ""
    return OPENINGS[opening].format(topics[topic]) + again + ENDINGS[(ending + opening) % len(ENDINGS)]


def _topics(domain: str) -> list[str]:
    return TOPICS[domain].split("|")


def ballots(part: Part, per_domain: int, rng: random.Random) -> list[Ballot]:
    """The votes on each question of a part, in file order."""
    cast = [Ballot(kind, dict.fromkeys(("none", *AGENTS), 0)) for kind in _kinds(part, per_domain, rng)]
    _vote_gold(part, [ballot for ballot in cast if ballot.kind == "gold"], rng)
    _vote_none(part, [ballot for ballot in cast if ballot.kind == "none"])
    for ballot in cast:
        if ballot.kind == "tie":
            ballot.votes.update(none=3, google=3)
    _vote_undecided(part, cast, rng)
    _fill(part, cast, rng)
    return cast


def _kinds(part: Part, per_domain: int, rng: random.Random) -> list[str]:
    """`gold`, `none`, `undecided` or `tie` for each question."""
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
    """`total` values first, first + 1, ..., as often as the counts say in proportion."""
    shares = apportion(total, counts)
    return [first + index for index, share in enumerate(shares) for _ in range(share)]


def _vote_gold(part: Part, gold: list[Ballot], rng: random.Random) -> None:
    """Deal the agents to the questions: as many labels a question and an agent as the release has."""
    sizes = _spread(part.gold_sizes, len(gold), first=1)
    rng.shuffle(sizes)
    dealt: list[list[str]] = [[] for _ in gold]
    labels = apportion(sum(sizes), part.agents)
    for count, agent in sorted(zip(labels, AGENTS, strict=True), reverse=True):
        open_questions = [index for index, size in enumerate(sizes) if len(dealt[index]) < size]
        rng.shuffle(open_questions)
        open_questions.sort(key=lambda index: len(dealt[index]) - sizes[index])
        for index in open_questions[:count]:
            dealt[index].append(agent)
    highest = _spread(part.gold_maximum, len(gold), first=3)
    rng.shuffle(highest)
    for ballot, agents, votes in zip(gold, dealt, highest, strict=True):
        for position, agent in enumerate(agents):
            ballot.votes[agent] = votes if position == 0 else 3 if len(agents) > 3 else rng.randint(3, votes)


def _vote_none(part: Part, chosen: list[Ballot]) -> None:
    for ballot, votes in zip(chosen, _spread(part.none_chosen, len(chosen), first=3), strict=True):
        ballot.votes["none"] = votes


def _vote_undecided(part: Part, cast: list[Ballot], rng: random.Random) -> None:
    """Questions without a winner, and the votes for none beside those with one."""
    undecided = [ballot for ballot in cast if ballot.kind == "undecided"]
    highest = _spread(part.undecided, len(undecided), first=1)
    gold = [ballot for ballot in cast if ballot.kind == "gold"]
    none_votes = _spread(part.none_otherwise, len(undecided) + len(gold))
    low = highest.count(1)
    few, rest = none_votes[:low], none_votes[low:]
    rng.shuffle(rest)
    for ballot, votes in zip(undecided + gold, few + rest, strict=True):
        ballot.votes["none"] = votes
    for ballot, votes in zip(undecided, highest, strict=True):
        if votes == 2:
            ballot.votes[_pick(rng)] = 2


def _pick(rng: random.Random) -> str:
    return rng.choices(AGENTS, tuple(FILLER_VOTES.values()))[0]


def _fill(part: Part, cast: list[Ballot], rng: random.Random) -> None:
    """Single votes for further agents, until the questions and the whole have as many votes as in the release."""
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
        _add_votes(ballot, total - ballot.total, rng)


def _add_votes(ballot: Ballot, missing: int, rng: random.Random) -> None:
    """Give votes to agents that stay below three, or below two where nobody has more than one."""
    highest = max(ballot.votes.values())
    limit = 1 if ballot.kind == "undecided" and highest < 2 else 2
    while missing > 0:
        agent = _pick(rng)
        if ballot.votes[agent] < limit:
            ballot.votes[agent] += 1
            missing -= 1


def _question_file(asked: list[tuple[str, str]], cast: list[Ballot], rng: random.Random) -> Iterator[bytes]:
    """One object, a member a question."""
    newlines = set(rng.sample(range(len(asked)), scaled(NEWLINE_RESPONSES, len(asked) / 1_850)))
    empty = _empty_responses(cast, rng)
    yield b"{\n"
    for index, ((domain, text), ballot) in enumerate(zip(asked, cast, strict=True)):
        topic = rng.choice(_topics(domain))
        responses = {agent: _response(agent, ballot.votes[agent], topic, rng) for agent in AGENTS}
        responses |= {agent: "" for agent in AGENTS if (index, agent) in empty}
        if index in newlines:
            responses["alexa"] += "\nSay next for more."
        votes = {"human_vote": {**ballot.votes, "intent": 0}}
        member = _indented({text: votes | responses | {"intent": domain, "human": ballot.human}})
        yield b",\n" * (index > 0) + member[2:-2]
    yield b"\n}"


def _empty_responses(cast: list[Ballot], rng: random.Random) -> set[tuple[int, str]]:
    """Questions and agents without a word; nobody votes for these."""
    empty = set()
    for agent, count in EMPTY_RESPONSES.items():
        unvoted = [index for index, ballot in enumerate(cast) if ballot.votes[agent] == 0]
        empty |= {(index, agent) for index in rng.sample(unvoted, scaled(count, len(cast) / 1_850))}
    return empty


def _response(agent: str, votes: int, topic: str, rng: random.Random) -> str:
    if not votes and rng.random() >= TALKATIVE.get(agent, 0.01):
        return FALLBACKS.get(agent, MISSED)
    return rng.choice(ANSWERS).format(topic)


def _descriptions() -> dict[str, str]:
    """A description of each agent; sport is called sports here, as in the release."""
    described = {}
    for agent, sentences in zip(AGENTS, DESCRIPTION_LENGTHS, strict=True):
        texts = (DESCRIPTION_SENTENCES[index % 3].format(agent.replace("_", " ")) for index in range(sentences))
        described["sports" if agent == "sport" else agent] = " ".join(texts)
    return described


def _indented(value: object) -> bytes:
    """JSON as the release writes it: indented by four, in ASCII, without a final newline."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=4).decode()
    return re.sub(r"[^\x00-\x7f]", lambda match: f"\\u{ord(match[0]):04x}", text).encode()
