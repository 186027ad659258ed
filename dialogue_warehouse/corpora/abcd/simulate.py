"""Generate an ABCD release: one gzipped object of conversations, and the documents they refer to.

Counts are those of the release (data_facts section 5, verification_targets 2.3); every conversation is invented. An
agent's utterance is the entry of utterances.json at its rank among the hundred candidates.
"""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Iterable, Iterator

import msgspec

from dialogue_warehouse.corpora.abcd import simulate_documents as documents
from dialogue_warehouse.corpora.abcd.simulate_documents import invent_customer, invent_scenario, question_of
from dialogue_warehouse.corpora.generation import PlannedFile, apportion, compact_document, random_stream, scaled

CONVERSATIONS = {"train": (8_034, 177_407), "dev": (1_004, 22_170), "test": (1_004, 22_170)}
"""Conversations and turns of each split at scale 1. The turns of dev and test are not documented: both have the same
number."""
BYTES = 121_548_569
UTTERANCES = 89_181
CANDIDATES = 100
CONVERSATION_FILE = "abcd_v1.1.json.gz"
CUSTOMER_TEXTS = (
    "Hi", "Hello!", "yes", "ok", "no", "Thanks!", "That is all.", "sure", "Hi, I need help with my order.",
    "ok thank you", "I have a question", "It is about {product}", "My name is {name}", "{name}",
    "My username is <username>", "<username>", "<email>", "Order ID: <order_id>", "zip is <zip_code>",
    "my phone number is <phone>", "account id <account_id>", "I am a {level} member", "Why is it so slow?",
    "I bought it last week", "It cost <amount>", "I want my money back!", "the wrong size arrived",
    "Can you check again please?", "that would be great", "No, that will be it for today", "I live at <full_address>",
    "you can send it to <street_address>", "Oh, I did not know that, good to hear.", "how long will it take",
    "Great, have a good one!",
)  # fmt: skip
ACTION_TEXTS = {
    "pull-up-account": "Account has been pulled up for {}.",
    "verify-identity": "Identity verification in progress ...",
    "validate-purchase": "Purchase validation in progress ...",
    "record-reason": "A reason of {} has been recorded.",
    "enter-details": "Details of {} have been entered.",
    "update-order": "Order has been updated with {}.",
    "update-account": "Account has been updated with {}.",
    "offer-refund": "A refund has been made for the amount of ${}.",
    "make-purchase": "A purchase of {} was made.",
    "shipping-status": "Shipping status of {} has been noted.",
    "notify-team": "The {} has been notified.",
    "membership": "Membership level of {} has been noted.",
    "select-faq": "FAQ answer {} was selected.",
    "search-faq": "Searching the FAQ pages ...",
    "try-again": "Agent is looking for solutions ...",
    "ask-the-oracle": "Querying the system for an answer ...",
    "make-password": "A password has been generated.",
    "promo-code": "A promo code has been created.",
}
"""The text of an action turn; for the other actions it is `System Action: <action>`."""
TYPO = "Identity verification in progess ..."
ANSWERS = {
    "record-reason": "reason_slotval", "update-order": "order_slotval", "update-account": "account_slotval",
    "make-purchase": "product", "shipping-status": "shipping_option", "notify-team": "company_team",
    "membership": "membership_level",
}  # fmt: skip
"""Actions that take one of the ontology's values."""
DETAILS = ("email", "phone", "username", "full_address", "account_id")
Turn = tuple[str, str, str, str | None, list[str]]
"""Speaker, text as typed, delexicalized text (an agent's: the number of the candidate), action, values."""


def plan(scale: float) -> list[PlannedFile]:
    """Plan the five files of the release: name, size in bytes, and the scale if the file depends on it."""
    return [
        PlannedFile(CONVERSATION_FILE, round(BYTES * scale), scale),
        PlannedFile("utterances.json", round(UTTERANCES * scale * 50), scale),
        PlannedFile("ontology.json", 5_800),
        PlannedFile("kb.json", 5_200),
        PlannedFile("guidelines.json", 95_000),
    ]


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield the bytes of one file of the release."""
    if planned.path == CONVERSATION_FILE:
        yield from _gzipped(_conversation_file(planned.parameters, seed))
    elif planned.path == "utterances.json":
        yield from _utterances(_utterance_count(planned.parameters))
    elif planned.path == "ontology.json":
        yield compact_document(documents.ontology(), 1)
    elif planned.path == "kb.json":
        yield compact_document(documents.knowledge_base(), 1)
    else:
        yield compact_document(documents.guidelines(), 1)


def _on_one_line(value: object) -> bytes:
    """Return JSON as Python's json module writes it by default."""
    return msgspec.json.format(msgspec.json.encode(value), indent=0)


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress the pieces with gzip, without a time in the header."""
    compressor = zlib.compressobj(level=4, wbits=31)
    for piece in pieces:
        compressed = compressor.compress(piece)
        if compressed:
            yield compressed
    yield compressor.flush()


def _utterance_count(scale: float) -> int:
    return scaled(UTTERANCES, scale, minimum=3 * CANDIDATES)


def _utterances(count: int) -> Iterator[bytes]:
    """Yield utterances.json, a thousand entries at a time."""
    for first in range(0, count, 1_000):
        texts = [documents.candidate(index).lower() for index in range(first, min(first + 1_000, count))]
        yield (b", " if first else b"[") + _on_one_line(texts)[1:-1]
    yield b"]"


def _conversation_file(scale: float, seed: int) -> Iterator[bytes]:
    """Yield one object with the three splits; a piece for each conversation."""
    rng = random_stream(seed, "abcd", CONVERSATION_FILE)
    sizes = {split: scaled(count, scale, minimum=4) for split, (count, _) in CONVERSATIONS.items()}
    identifiers = list(range(1, sum(sizes.values()) + 1))
    rng.shuffle(identifiers)
    ranking = Ranking(_utterance_count(scale), rng)
    separator = b"{"
    for split, (count, turns) in CONVERSATIONS.items():
        yield separator + b'"%b": [' % split.encode()
        separator = b""
        total = round(turns * sizes[split] / count)
        for length in apportion(total, [rng.uniform(0.6, 1.4) for _ in range(sizes[split])]):
            yield separator + _on_one_line(_conversation(identifiers.pop(), length, ranking, rng))
            separator = b", "
        separator = b"], "
    yield b"]}"


class Ranking:
    """Dealer of candidates: each turn gets a hundred different ones, with the right one at a random rank."""

    def __init__(self, count: int, rng: random.Random) -> None:
        self.count = count
        self.shuffled = [str(index) for index in range(count)]
        rng.shuffle(self.shuffled)

    def deal(self, target: int, rng: random.Random) -> tuple[int, msgspec.Raw]:
        """Return the rank of the target, and the candidates as JSON."""
        first = int(rng.random() * (self.count - CANDIDATES))
        dealt = self.shuffled[first : first + CANDIDATES]
        rank = int(rng.random() * CANDIDATES)
        token = str(target)
        if token in dealt:
            dealt[dealt.index(token)] = dealt[rank]
        dealt[rank] = token
        return rank, msgspec.Raw(f"[{', '.join(dealt)}]".encode())


@functools.cache
def _subflows() -> tuple[tuple[str, str], ...]:
    return tuple((flow, subflow) for flow, names in documents.FLOWS.items() for subflow in names.split())


def _conversation(identifier: int, length: int, ranking: Ranking, rng: random.Random) -> dict:
    """Return one conversation, as typed and delexicalized."""
    flow, intent = rng.choice(_subflows())
    values = invent_customer(rng)
    question = question_of(flow, intent, rng)
    turns = _turns(intent, question, length, values, ranking, rng)
    entered = {value for *_, with_button in turns for value in with_button}
    return {
        "convo_id": identifier,
        "scenario": invent_scenario(flow, question, values, entered, rng),
        "original": [[speaker, text] for speaker, text, *_ in turns],
        "delexed": [_delexed(intent, count, turn, ranking, rng) for count, turn in enumerate(turns, start=1)],
    }


def _turns(
    intent: str, question: str, length: int, values: dict[str, str], ranking: Ranking, rng: random.Random
) -> list[Turn]:
    """Return turns of agent and customer, often several in a row, with the subflow's buttons spread among them."""
    actions = documents.knowledge_base()[intent]
    gap = max(2.0, (length - 2) / (len(actions) + 1))
    pressed = {round(gap * (position + 1)): action for position, action in enumerate(actions)}
    turns: list[Turn] = []
    speaker = "agent"
    for index in range(length):
        if index in pressed:
            turns.append(_action_turn(pressed[index], question, values, rng))
        elif speaker == "agent":
            target = int(rng.random() * ranking.count)
            turns.append(("agent", _spoken(documents.candidate(target), values), str(target), None, []))
        else:
            text = rng.choice(CUSTOMER_TEXTS).format_map(values)
            turns.append(("customer", _spoken(text, values), text.lower(), None, []))
        if index not in pressed and rng.random() < 0.78:
            speaker = "customer" if speaker == "agent" else "agent"
    return turns


def _spoken(text: str, values: dict[str, str]) -> str:
    """Return the text as typed: the value in place of its token."""
    before, token, after = text.partition("<")
    if not token:
        return text
    slot, _, rest = after.partition(">")
    return f"{before}{values[slot]}{rest}"


def _action_turn(action: str, question: str, values: dict[str, str], rng: random.Random) -> Turn:
    """Return the turn of a pressed button: only some values are masked in its text, none in its targets."""
    if action == "enter-details":
        slot = rng.choice(DETAILS)
        text = ACTION_TEXTS[action]
        return "action", text.format(values[slot]), text.lower().format(f"<{slot}>"), action, [values[slot]]
    entered = _entered(action, question, values, rng)
    text = ACTION_TEXTS.get(action, f"System Action: {action.replace('-', ' ')}").format(*entered)
    if action == "verify-identity" and rng.random() < 0.1:
        text = TYPO
    return "action", text, text.lower(), action, entered


def _entered(action: str, question: str, values: dict[str, str], rng: random.Random) -> list[str]:
    """Return the values entered with a button."""
    if action == "pull-up-account":
        return [values["name"].lower()]
    if action == "verify-identity":
        return [values["name"].lower(), values["account_id"].lower(), values["zip_code"]]
    if action == "validate-purchase":
        return [values["username"], values["email"], values["order_id"]]
    if action == "offer-refund":
        return [values["amount"]]
    if action == "select-faq":
        return [question]
    return [rng.choice(documents.ENUMERABLE[ANSWERS[action]])] if action in ANSWERS else []


def _delexed(intent: str, count: int, turn: Turn, ranking: Ranking, rng: random.Random) -> dict:
    """Return a turn with its targets; the agent's text is the candidate at the target's rank."""
    speaker, _, text, action, values = turn
    rank, candidates, next_step = -1, [], "take_action" if action else None
    if speaker == "agent":
        target = int(text)
        text, next_step = documents.candidate(target).lower(), "retrieve_utterance"
        rank, candidates = ranking.deal(target, rng)
    return {
        "speaker": speaker,
        "text": text,
        "turn_count": count,
        "targets": [intent, next_step, action, values, rank],
        "candidates": candidates,
    }
