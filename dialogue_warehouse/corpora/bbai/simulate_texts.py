"""Texts of a generated BBAI release: the questions of each domain, some of them almost alike, and the responses.

The number of questions that differ from another one only by case or punctuation is a fact of the release (data_facts
section 2, B17; verification_targets 2.1); every text is invented.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate

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
"""Subjects of the questions of each domain, in the order of the release's blocks."""
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
ENDINGS = ("", " today", " for me please", " right now?", " before I leave", ", thanks")
SPECIAL_QUESTIONS = (
    "What’s the best answer for {}",
    "What do people mean by “{}”",
    "I’ve got £20, is that enough for {}",
    "Who’s asking about {} and who’s not",
    "Isn’t “{}” a thing",
    "Is {} below £5",
)
"""The few questions with characters beyond ASCII, one in each of the first domains."""
SHARED = (10, 20, 1)
"""Domains in which a test question repeats a train question except for its case, its ending, or punctuation inside."""
TWINS = {"train": (6, 14, 2), "test": (0, 8, 1)}
"""Domains of each part in which a question repeats another one of its part except for these."""
TRIPLET = ("test", 7)
"""Part and position of the domain in which two questions repeat a third."""
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
"""Answers of an agent to a question that it does not understand; the other agents answer `MISSED`."""
MISSED = "Didn't get that!"
MISSES = {
    "houndify": 855, "recipe": 1819, "dictionary": 1793, "task_manager": 1814, "hotel": 1808, "stock": 1816,
    "math": 1796, "sport": 1798, "wikipedia": 1681, "adasa": 1102,
}  # fmt: skip
"""The number of the 1,850 test questions that an agent does not understand; its answers to them have no votes."""
TALKATIVE = {"alexa": 0.93, "google": 0.87, "covid": 0.2}
"""For the other agents, the share of questions without votes for which they have an answer about the topic."""
ANSWERS = (
    "Here is what I found about {}, most people seem to agree on the first entry.",
    "According to my notes, {} is best looked up twice, because the numbers changed not long ago.",
    "{} is ready for you, just say next to hear the following one.",
    "I put {} at the top of the list and will let you know when there is something new about it.",
    "From an encyclopedia: {} has a long history, and the details depend on where and when you ask.",
    "Got it, {}.",
)


def questions(part: str, answerable: Sequence[bool], first: int) -> list[tuple[str, str]]:
    """Return domain and text of each question, in file order; no text occurs twice in a release.

    The texts of a domain are numbered from `first`, those of its answerable questions before the others.
    """
    per_domain = len(answerable) // len(TOPICS)
    asked = []
    for position, domain in enumerate(TOPICS):
        block = answerable[position * per_domain : (position + 1) * per_domain]
        order = sorted(range(per_domain), key=lambda index: not block[index])
        texts = [""] * per_domain
        for number, index in enumerate(order, start=first):
            texts[index] = _question(domain, number)
        if per_domain > 3:
            for index, alike in zip(order[2:], _twins(part, position), strict=False):
                texts[index] = alike(texts[order[1]])
        if part == "test" and position < sum(SHARED):
            texts[order[0]] = _difference(SHARED, position)(_question(domain, 0))
        if position < len(SPECIAL_QUESTIONS):
            texts[order[-1]] = SPECIAL_QUESTIONS[position].format(topics(domain)[part == "test"])
        asked.extend((domain, text) for text in texts)
    return asked


def _twins(part: str, position: int) -> list[Callable[[str], str]]:
    """Return the functions that make the twins of a domain's second question.

    Many domains have none; one domain of test has two.
    """
    if position >= sum(TWINS[part]):
        return []
    twin = _difference(TWINS[part], position)
    return [twin, _stopped] if (part, position) == TRIPLET else [twin]


def _difference(counts: tuple[int, int, int], position: int) -> Callable[[str], str]:
    """Return the difference of a twin: another case in the first domains, then another ending, then a hyphen."""
    kinds = (str.upper, _exclaimed, _hyphenated)
    return next(kind for kind, end in zip(kinds, accumulate(counts), strict=True) if position < end)


def _exclaimed(text: str) -> str:
    return text.rstrip("?") + "!"


def _stopped(text: str) -> str:
    return text.rstrip("?") + "."


def _hyphenated(text: str) -> str:
    return text.replace(" ", "-", 1)


def _question(domain: str, number: int) -> str:
    """Return the text of a domain's question with this number; each number has another text."""
    subjects = topics(domain)
    number, subject = divmod(number, len(subjects))
    number, opening = divmod(number, len(OPENINGS))
    number, ending = divmod(number, len(ENDINGS))
    again = f" for the {number + 1}. time" if number else ""
    return OPENINGS[opening].format(subjects[subject]) + again + ENDINGS[(ending + opening) % len(ENDINGS)]


def topics(domain: str) -> list[str]:
    """Return the subjects of the questions of a domain."""
    return TOPICS[domain].split("|")


def missed_questions(agent: str, count: int) -> int:
    """Return how many of these questions the agent does not understand."""
    return round(MISSES[agent] * count / 1_850)


def response(agent: str, topic: str, is_voted: bool, is_missed: bool, rng: random.Random) -> str:
    """Return an agent's answer: something about the topic, or that it did not understand."""
    is_silent = is_missed if agent in MISSES else not is_voted and rng.random() >= TALKATIVE.get(agent, 0.01)
    return FALLBACKS.get(agent, MISSED) if is_silent else rng.choice(ANSWERS).format(topic)
