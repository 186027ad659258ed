"""The sentences of a generated Taskmaster-1 release, and the pieces of them that one or two workers have labeled."""

from __future__ import annotations

import random

from pipelines.corpora.taskmaster1.simulate_domains import DOMAINS, Domain

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
FORMS = {
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
    """A sentence with one to three labeled pieces, and now and then a further piece by a second worker."""
    pieces = rng.choice(FORMS[role]).split("{}")
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
    """What a second worker marked: one character more, or a part of the first one's piece."""
    inner = text.rfind(" ", start, end)
    if end < len(text) and (inner < 0 or rng.random() < 0.5):
        return _segment(text, start, end + 1, [name])
    return _segment(text, inner + 1 if inner >= 0 else start, end, [name])


def _name(domain: Domain, label: str, rng: random.Random) -> str:
    """A label of the domain, mostly bare; rarely one of another domain, as in the release."""
    chance = rng.random()
    if chance < 0.004:
        other = rng.choice(DOMAINS)
        return f"{other.id}.{next(iter(other.required))}"
    suffix = ".accept" if chance < 0.28 else ".reject" if chance < 0.37 else ""
    return f"{domain.id}.{label}{suffix}"


def status_sentence(domain: Domain, rng: random.Random) -> dict:
    """A sentence about the whole transaction: labeled with the domain itself, in one of three forms."""
    verdict = rng.randrange(2)
    outcome = ("accept", "reject")[verdict]
    name = rng.choice((domain.id, f"{domain.id}.{outcome}", f"{domain.id}.{domain.vertical}.{outcome}"))
    order = domain.vertical.replace("_", " ")
    text = STATUS_FORMS[verdict].format(order)
    start = text.index(order)
    return {"text": text, "segments": [_segment(text, start, start + len(order), [name])]}
