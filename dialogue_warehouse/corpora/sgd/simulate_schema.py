"""The services of a generated SGD release and the values of their slots.

The services of a split, and the numbers of their slots and intents, are facts of the release (data_facts section 6, S05
and S31). Slots, intents and values are invented, except those that the documentation of a defect names. A value has a
canonical form and spoken forms.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

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
"""Spoken forms of each canonical value, by kind of values."""
VALUES = {kind: tuple(forms) for kind, forms in SPOKEN.items()}


SPLITS = {
    "train": "Banks_1 Buses_1 Buses_2 Calendar_1 Events_1 Events_2 Flights_1 Flights_2 Homes_1 Hotels_1 Hotels_2 "
    "Hotels_3 Media_1 Movies_1 Music_1 Music_2 RentalCars_1 RentalCars_2 Restaurants_1 RideSharing_1 RideSharing_2 "
    "Services_1 Services_2 Services_3 Travel_1 Weather_1",
    "dev": "Alarm_1 Banks_2 Buses_1 Events_1 Flights_3 Homes_1 Hotels_1 Hotels_4 Media_2 Movies_2 Music_1 "
    "RentalCars_1 Restaurants_2 RideSharing_1 Services_4 Travel_1 Weather_1",
    "test": "Alarm_1 Buses_3 Events_3 Flights_4 Homes_2 Hotels_2 Hotels_4 Media_3 Messaging_1 Movies_1 Movies_3 "
    "Music_3 Payment_1 RentalCars_3 Restaurants_2 RideSharing_2 Services_1 Services_4 Trains_1 Travel_1 Weather_1",
}
"""Services of each split."""
SIZES = {
    "Alarm_1": (4, 0, 2), "Banks_1": (5, 2, 4), "Banks_2": (6, 2, 4), "Buses_1": (9, 2, 5), "Buses_2": (9, 2, 6),
    "Buses_3": (10, 3, 7), "Calendar_1": (6, 0, 4), "Events_1": (9, 2, 6), "Events_2": (9, 2, 6), "Events_3": (9, 2, 5),
    "Flights_1": (16, 5, 10), "Flights_2": (16, 5, 7), "Flights_3": (17, 6, 8), "Flights_4": (13, 4, 7),
    "Homes_1": (10, 4, 7), "Homes_2": (11, 5, 8), "Hotels_1": (10, 3, 7), "Hotels_2": (9, 2, 6), "Hotels_3": (10, 2, 6),
    "Hotels_4": (10, 3, 7), "Media_1": (4, 1, 4), "Media_2": (6, 1, 5), "Media_3": (4, 1, 4), "Messaging_1": (2, 0, 2),
    "Movies_1": (10, 2, 8), "Movies_2": (5, 0, 3), "Movies_3": (5, 0, 3), "Music_1": (6, 2, 6), "Music_2": (5, 1, 5),
    "Music_3": (6, 2, 6), "Payment_1": (4, 2, 4), "RentalCars_1": (8, 1, 6), "RentalCars_2": (8, 1, 6),
    "RentalCars_3": (9, 2, 7), "Restaurants_1": (11, 4, 9), "Restaurants_2": (12, 4, 9), "RideSharing_1": (5, 2, 3),
    "RideSharing_2": (5, 2, 3), "Services_1": (8, 1, 5), "Services_2": (7, 1, 5), "Services_3": (8, 1, 5),
    "Services_4": (7, 1, 5), "Trains_1": (10, 3, 7), "Travel_1": (6, 3, 4), "Weather_1": (6, 0, 2),
}  # fmt: skip
"""Numbers of slots, categorical slots and informable slots (those that an intent takes) of each service."""
INTENTS = {
    "Alarm": "ListAlarms SetAlarm!", "Banks": "ShowBalance SendTransfer!", "Buses": "FindCoach BuyCoachTicket!",
    "Calendar": "ListAppointments FindFreeTime CreateAppointment!", "Events": "FindShows BuyShowTickets!",
    "Events_2": "FindShows ListShowDates BuyShowTickets!", "Flights": "FindOnewayFlight FindReturnFlight",
    "Flights_1": "FindOnewayFlight FindReturnFlight BookOnewayFlight! BookReturnFlight!",
    "Homes": "FindFlat ArrangeViewing!", "Homes_2": "FindHomeInArea ArrangeViewing!",
    "Hotels": "ReserveHotel! FindHotel", "Hotels_2": "RentHouse! FindHouse", "Media": "FindFilms WatchFilm!",
    "Media_2": "FindFilms HireFilm!", "Messaging": "SendLocation!", "Movies": "FindFilms",
    "Movies_1": "BuyCinemaTickets! FindFilms ListShowTimes", "Music": "FindMusic StreamMusic!",
    "Music_1": "FindSong PlaySong!", "Payment": "AskForPayment! SendPayment!", "RentalCars": "FindCars ReserveCar!",
    "Restaurants": "ReserveTable! FindRestaurants", "RideSharing": "OrderRide!",
    "Services": "BookAppointment! FindProvider", "Trains": "BuyTrainTickets! FindTrains", "Travel": "FindSights",
    "Weather": "GetForecast",
}  # fmt: skip
"""Intents of a domain, or of one of its services where that differs; those with a `!` change something."""
SLOTS = {
    "Alarm": "new_alarm_time b time; new_alarm_name o title; alarm_time r time; alarm_name r title",
    "Banks": "recipient_name b person; transfer_amount b money; account_type k checking|savings; "
    "recipient_account_type o checking|savings; balance r money; transfer_day r date",
    "Buses": "from_city k city; to_city k city; leaving_date k date; leaving_time b time; "
    "fare_class o economy|flexible; travelers s 1|2|3|4|5; coach_type o standard|sleeper; price r money; "
    "from_station r title; to_station r title; arrival_time r time",
    "Calendar": "event_date k date; event_name b title; event_time b time; event_place b address; free_from r time; "
    "free_until r time",
    "Events": "city k city; event_name e title; event_date s date; performer s person; "
    "event_type k music|sports|theater; ticket_count b 1|2|3|4|5; venue r title; venue_address r address; "
    "start_time r time; price r money",
    "Flights": "origin_city k city; destination_city k city; departure_date k date; return_date s date; "
    "flight_number e code; passengers s 1|2|3|4; seat_class s economy|business|first; "
    "airline s Northern Wings|Blue Gull|Aurora Air|Pelican; refundable s True|False; carry_on o True|False; "
    "price r money; departure_time r time; arrival_time r time; origin_airport r title; "
    "destination_airport r title; return_departure_time r time; return_arrival_time r time; stops r 0|1|2; "
    "meal_included r True|False",
    "Homes": "area k city; property_name e title; viewing_date b date; rent r money; agent_phone r phone; "
    "max_rent s money; beds s 1|2|3|4; baths s 1|2|3; pets_allowed s True|False; intent k rent|buy; "
    "has_garage r True|False",
    "Hotels": "location k city; hotel_name e title; check_in_date b date; nights b count; star_rating s 1|2|3|4|5; "
    "room_count o 1|2|3; has_breakfast s True|False; street_address r address; phone_number r phone; "
    "room_price r money; guest_rating r rating",
    "Media": "genre k genre; title e title; director s person; actor s person; subtitles o English|Spanish|Hindi; "
    "rental_price r money",
    "Messaging": "location b address; contact b person",
    "Movies": "location k city; film_title e title; genre s genre; show_date b date; show_time b time; "
    "theater_name s title; show_type b regular|3d|imax; ticket_count b 1|2|3|4|5; price r money; "
    "theater_address r address",
    "Music": "artist k person; song_title e title; album s title; genre s genre; year s 2016|2017|2018|2019; "
    "device o kitchen|bedroom|patio",
    "Payment": "receiver b person; amount b money; payment_source b app balance|debit card; private o True|False",
    "RentalCars": "pickup_city k city; car_model e title; pickup_date k date; pickup_time b time; "
    "dropoff_date b date; car_type s compact|standard|suv; with_insurance o True|False; pickup_place r title; "
    "daily_price r money",
    "Restaurants": "city k city; restaurant_name e title; cuisine k cuisine; reservation_time b time; "
    "reservation_date b date; price_range s cheap|moderate|expensive; seats o 1|2|3|4|5|6; "
    "live_music s True|False; serves_wine s True|False; street_address r address; phone_number r phone; "
    "guest_rating r rating",
    "RideSharing": "destination b address; pickup_point b address; ride_type b shared|regular|large; fare r money; "
    "wait_minutes r 5|10|15",
    "Services": "city k city; provider_name e title; visit_date b date; visit_time b time; "
    "takes_walk_ins s True|False; street_address r address; phone_number r phone; guest_rating r rating",
    "Trains": "from_city k city; to_city k city; travel_date k date; departure_time e time; "
    "seat_class o value|quiet|flexible; travelers o 1|2|3|4|5; travel_insurance o True|False; "
    "from_station r title; to_station r title; total_price r money",
    "Travel": "city k city; sight_name s title; sight_type s museum|park|temple|market; free_entry s True|False; "
    "good_for_kids r True|False; phone_number r phone",
    "Weather": "city k city; forecast_date s date; temperature r degrees; humidity r percent; wind_speed r speed; "
    "rain_chance r percent",
}
"""Slots of each domain: name, role, kind of values. A service takes its number of each sort, in this order.

Roles: `k` a search needs it, `s` a search may have it, `e` the entity that a search offers and a booking needs,
`b` a booking needs it, `o` a booking may have it, `r` only returned. A kind with a bar lists categorical values.
"""
EXAMPLES = {("Restaurants_1", "cuisine"): ("Nordic", "Peruvian", "Lebanese", "Korean", "Creole")}
"""Values listed for a slot that is not categorical; the release has one such slot."""


@dataclass(frozen=True)
class Slot:
    """A slot of a service."""

    name: str
    role: str
    kind: str
    categories: tuple[str, ...]
    examples: tuple[str, ...] = ()

    @property
    def is_categorical(self) -> bool:
        """True if its values are a closed list."""
        return bool(self.categories)

    @property
    def values(self) -> tuple[str, ...]:
        """All canonical values."""
        return self.categories or VALUES[self.kind]

    def forms(self, value: str) -> tuple[str, ...]:
        """Return the spoken forms of a canonical value."""
        return (value,) if self.categories else SPOKEN[self.kind].get(value, (value,))

    @property
    def words(self) -> str:
        """The name as it is spoken."""
        return self.name.replace("_", " ")


@dataclass(frozen=True)
class Intent:
    """An intent of a service."""

    name: str
    is_transactional: bool
    required: tuple[str, ...]
    optional: tuple[str, ...]
    result: tuple[str, ...]


@dataclass(frozen=True)
class Service:
    """A service with all facts that a dialogue needs."""

    name: str
    slots: dict[str, Slot]
    searches: tuple[Intent, ...]
    bookings: tuple[Intent, ...]
    entity: str
    """The slot that a search offers and a booking needs; empty if there is none."""

    @property
    def domain(self) -> str:
        """Its name without the number."""
        return self.name.rpartition("_")[0]

    @property
    def shortest(self) -> int:
        """The smallest number of exchanges that use it."""
        return 1 if self.searches else 2


@functools.cache
def service(name: str) -> Service:
    """Return a service by its name."""
    domain = name.rpartition("_")[0]
    slots = _slots(name, domain)
    names = INTENTS.get(name, INTENTS[domain]).split()
    searches, bookings = [text for text in names if "!" not in text], [text for text in names if "!" in text]
    return Service(
        name=name,
        slots={slot.name: slot for slot in slots},
        searches=tuple(_search(text, position, slots, not bookings) for position, text in enumerate(searches)),
        bookings=tuple(_booking(text.rstrip("!"), slots, not searches) for text in bookings),
        entity=next((slot.name for slot in slots if slot.role == "e"), "") if searches else "",
    )


def _slots(name: str, domain: str) -> list[Slot]:
    """Return the slots of a service, as many of each sort as it has."""
    total, categorical, informable = SIZES[name]
    chosen = min(categorical, informable // 2)
    room = {
        (True, True): chosen,
        (True, False): informable - chosen,
        (False, True): categorical - chosen,
        (False, False): total - informable - (categorical - chosen),
    }
    slots = []
    for entry in SLOTS[domain].split(";"):
        slot, role, kind = entry.strip().split(" ", 2)
        sort = role != "r", "|" in kind
        if room[sort]:
            room[sort] -= 1
            categories = tuple(kind.split("|")) if "|" in kind else ()
            examples = EXAMPLES.get((name, slot), ())
            slots.append(Slot(slot, role, "" if categories else kind, categories, examples))
    return slots


def _search(name: str, position: int, slots: list[Slot], is_alone: bool) -> Intent:
    """Return a search with its required and optional slots; without a booking it takes all informable slots."""
    required = [slot.name for slot in slots if slot.role == "k"]
    optional = [slot.name for slot in slots if slot.role == "s" or (is_alone and slot.role in "ebo")]
    if position and optional:
        required.append(optional.pop(0))
    result = [slot.name for slot in slots if slot.role not in "bo" or is_alone]
    return Intent(name, False, tuple(required), tuple(optional), tuple(result))


def _booking(name: str, slots: list[Slot], is_alone: bool) -> Intent:
    """Return a booking: the entity, its place, and the slots that only a booking takes."""
    required = [slot.name for slot in slots if slot.role in "eb" or (slot.role == "k" and (is_alone or slot.kind))]
    optional = [slot.name for slot in slots if slot.role == "o" or (is_alone and slot.role == "s")]
    return Intent(name, True, tuple(required), tuple(optional), tuple(slot.name for slot in slots))


def schema(split: str) -> list[dict]:
    """Return schema.json of a split."""
    return [_service_entry(service(name)) for name in SPLITS[split].split()]


def _service_entry(described: Service) -> dict:
    """Return one service, its keys in the order of the release."""
    return {
        "service_name": described.name,
        "description": f"A way to deal with {described.domain.lower()}, offer number {described.name[-1]}",
        "slots": [_slot_entry(slot, described) for slot in described.slots.values()],
        "intents": [_intent_entry(intent, described) for intent in described.searches + described.bookings],
    }


def _slot_entry(slot: Slot, described: Service) -> dict:
    return {
        "name": slot.name,
        "description": f"The {slot.words} as used by {described.name}",
        "is_categorical": slot.is_categorical,
        "possible_values": list(slot.categories or slot.examples),
    }


def _intent_entry(intent: Intent, described: Service) -> dict:
    defaults = {slot: (described.slots[slot].categories or ("dontcare",))[0] for slot in intent.optional}
    return {
        "name": intent.name,
        "description": f"{'Change' if intent.is_transactional else 'Look up'} something with {described.name}",
        "is_transactional": intent.is_transactional,
        "required_slots": list(intent.required),
        "optional_slots": defaults,
        "result_slots": list(intent.result),
    }
