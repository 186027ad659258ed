"""Generates a BBAI release: questions in blocks of one domain, crowd votes, nineteen responses each.

The numbers of votes, gold labels and rows are those of the release (data_facts section 2); every text is invented. Who
votes for whom is dealt in `simulate_ballots`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import msgspec

from pipelines.corpora.bbai.schema import AGENTS
from pipelines.corpora.bbai.simulate_ballots import PARTS, TRAIN, Ballot, ballots
from pipelines.corpora.bbai.simulate_texts import MISSES, TOPICS, missed_questions, questions, response, topics
from pipelines.corpora.generation import PlannedFile, random_stream, scaled

DESCRIPTION_SENTENCES = (
    "A voice assistant that answers questions about {0}.",
    "It can also keep lists, read the news and talk about {0} with the whole family.",
    "Ask it early and ask it often; {0} is what it knows best.",
)
DESCRIPTION_LENGTHS = (20, 21, 48, 12, 1, 3, 2, 1, 1, 1, 4, 1, 1, 1, 2, 1, 1, 1, 3)
"""Sentences in the description of each agent, which differ as widely in the release."""
EMPTY_RESPONSES = {"covid": 20, "reminders": 15, "event_search": 9}
NEWLINE_RESPONSES = 60


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
    cast = ballots(PARTS[part], size, random_stream(seed, "bbai", part, "ballots"))
    first = 0 if part == "train" else scaled(TRAIN.questions_per_domain, planned.parameters)
    asked = questions(part, [ballot.kind == "gold" for ballot in cast], first)
    if rest:
        answered = [index for index, ballot in enumerate(cast) if ballot.kind == "gold"]
        yield _indented([[asked[index][1], cast[index].human] for index in answered])
    else:
        yield from _question_file(asked, cast, random_stream(seed, "bbai", part, "responses"))


def _question_file(asked: list[tuple[str, str]], cast: list[Ballot], rng: random.Random) -> Iterator[bytes]:
    """One object, a member a question."""
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
    """So many questions of each agent on which nobody votes for it."""
    chosen = set()
    for agent, count in counts.items():
        unvoted = [index for index, ballot in enumerate(cast) if ballot.votes[agent] == 0]
        chosen |= {(index, agent) for index in rng.sample(unvoted, min(count, len(unvoted)))}
    return chosen


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
