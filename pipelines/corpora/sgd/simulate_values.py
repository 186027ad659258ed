"""The values of a generated SGD release: of each kind the canonical values, and the ways to say them."""

from __future__ import annotations

_ADJECTIVES = (
    "Amber", "Blue", "Copper", "Daily", "Emerald", "Fine", "Golden", "Hidden", "Iron", "Jolly", "Little", "Old",
    "Quiet", "Red", "Silver", "Tall",
)  # fmt: skip
_NOUNS = (
    "Anchor", "Bell", "Crane", "Dove", "Elm", "Fox", "Garden", "Heron", "Island", "Lantern", "Maple", "Oak", "Pier",
    "River", "Swan", "Tower",
)  # fmt: skip
_FIRST = ("Ana", "Boris", "Carla", "Dev", "Emma", "Felix", "Gina", "Hiro", "Iris", "Jamal", "Kim", "Leo", "Noel")
_LAST = ("Abbott", "Brandt", "Castro", "Duarte", "Ellis", "Fontaine", "Gupta", "Hale", "Ito", "Jensen")
_STREETS = ("Alder Street", "Bay Road", "Cherry Lane", "Dune Avenue", "Elm Court", "Fern Way", "Grove Park")
_NUMBERS = ("one", "two", "three", "four", "five")
_CITIES = {
    "San Jose": ("San Jose, CA",), "San Francisco": ("SF", "San Fran"), "New York": ("NYC", "New York City"),
    "Los Angeles": ("LA", "Los Angeles, CA"), "Portland": ("Portland, OR",), "Seattle": (), "Chicago": ("Chi-town",),
    "Oakland": (), "Vancouver": ("Vancouver, BC",), "Sacramento": (), "Toronto": (), "Philadelphia": ("Philly",),
    "Long Beach": (), "Atlanta": (), "Phoenix": ("Phoenix, AZ",), "Fresno": (),
}  # fmt: skip
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}


def _date_forms(day: int) -> tuple[str, ...]:
    ordinal = f"{day}{_ORDINALS.get(day, 'th')}"
    return (f"March {ordinal}", f"the {ordinal}", f"{ordinal} of March", f"the {ordinal} of this month")


def _time_forms(hour: int, minute: int) -> tuple[str, ...]:
    clock = (hour - 1) % 12 + 1
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    short = f"{clock}:{minute:02d}" if minute else str(clock)
    return (f"{short} {'am' if hour < 12 else 'pm'}", f"{'half past ' + str(clock) if minute == 30 else short} {part}")


SPOKEN: dict[str, dict[str, tuple[str, ...]]] = {
    "city": {city: (city, *others) for city, others in _CITIES.items()},
    "title": {f"{first} {second}": (f"{first} {second}",) for first in _ADJECTIVES for second in _NOUNS},
    "person": {f"{first} {last}": (f"{first} {last}",) for first in _FIRST for last in _LAST},
    "date": {f"2019-03-{day:02d}": _date_forms(day) for day in range(1, 29)},
    "time": {f"{hour:02d}:{m:02d}": _time_forms(hour, m) for hour in range(7, 23) for m in (0, 15, 30, 45)},
    "money": {str(amount): (f"${amount}", f"{amount} dollars") for amount in range(12, 480, 3)},
    "count": {str(number): (str(number), word) for number, word in enumerate(_NUMBERS, start=1)},
    "phone": {f"{area}-555-01{n:02d}": (f"{area}-555-01{n:02d}",) for area in (206, 415, 503, 617) for n in range(40)},
    "address": {f"{n} {s}": (f"{n} {s}",) for s in _STREETS for n in range(11, 900, 37)},
    "genre": {genre: (genre,) for genre in ("Comedy", "Drama", "Folk", "Jazz", "Mystery", "Noir", "Pop", "Western")},
    "cuisine": {"Nordic": ("Nordic", "Scandinavian"), "Peruvian": ("Peruvian",), "Lebanese": ("Lebanese", "mezze"),
                "Korean": ("Korean", "Korean barbecue"), "Creole": ("Creole", "gumbo"), "Basque": ("Basque",)},
    "rating": {f"{n / 10}": (f"{n / 10}",) for n in range(28, 50)},
    "code": {f"{letter}{n}": (f"{letter}{n}", f"flight {letter}{n}") for letter in "BNPX" for n in range(101, 990, 47)},
    "degrees": {str(n): (f"{n} degrees",) for n in range(51, 99)},
    "percent": {str(n): (f"{n} percent",) for n in range(2, 99, 3)},
    "speed": {str(n): (f"{n} miles per hour",) for n in range(1, 16)},
}  # fmt: skip
"""Kind of values -> canonical value -> the ways to say it."""
VALUES = {kind: tuple(forms) for kind, forms in SPOKEN.items()}
