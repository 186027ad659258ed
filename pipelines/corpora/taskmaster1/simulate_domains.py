"""The tasks of a generated Taskmaster-1 release: six domains with their labels, and something to say for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Domain:
    """A task: its entry in the ontology, its instructions, and something to say for each label."""

    key: str
    id: str
    vertical: str
    instruction: str
    required: dict[str, str]
    optional: dict[str, str]

    @property
    def labels(self) -> dict[str, str]:
        """Label -> values, separated by a bar."""
        return self.required | self.optional


PLACES = "Maple Street|the old harbor|Fifth and Pine|Union Square, near the fountain|the west end of town"
CLOCK = "7 pm|half past six|around noon|8:15 in the evening|tomorrow at 4"
NUMBERS = "two|3|four|just one|6"
DOMAINS = (
    Domain(
        "uber", "uber_lyft", "ride_booking", "uber-lyft",
        {"location.from": PLACES, "location.to": "the airport|Café Olé|the train station|my sister's house",
         "type.ride": "a shared ride|the large one|UberXL|a regular car", "num.people": NUMBERS},
        {"price.estimate": "$14|about 22 dollars|$9.50", "duration.estimate": "18 minutes|half an hour",
         "time.pickup": CLOCK, "time.dropoff": CLOCK},
    ),
    Domain(
        "movie", "movie_ticket", "ticket_booking", "movie-tickets",
        {"name.movie": "The Glass Harbor|Pokémon Garden|Seven Lanterns|Moonlight Ferry 2", "num.tickets": NUMBERS,
         "name.theater": "Grand Lantern 12|the Orpheum|Riverside Cinemas", "time.start": CLOCK,
         "location.theater": PLACES, "price.ticket": "$12.50 each|thirteen dollars|$8"},
        {"type.screening": "3D|IMAX|the regular screen", "time.end": CLOCK, "time.duration": "two hours|95 minutes"},
    ),
    Domain(
        "restaurant", "restaurant_reservation", "reservation", "restaurant-table",
        {"name.restaurant": "Señor Pepe's|Lotus Kitchen|The Brass Ladle|Olive & Fig", "num.guests": NUMBERS,
         "name.reservation": "Tina Brandt|Mr. Okoro|Jim, just Jim", "time.reservation": CLOCK},
        {"type.seating": "a booth|outside on the patio|by the window", "location.restaurant": PLACES},
    ),
    Domain(
        "coffee", "coffee_ordering", "coffee_order", "coffee-ordering",
        {"location.store": PLACES, "name.drink": "crème brûlée latte|flat white|iced mocha|cold brew",
         "size.drink": "large|a medium|the smallest one"},
        {"num.drink": NUMBERS, "type.milk": "oat milk|skim|almond milk", "preference": "extra hot|no whipped cream"},
    ),
    Domain(
        "pizza", "pizza_ordering", "pizza_order", "pizza-ordering",
        {"name.store": "Bella Torre|Slice & Co.|Uncle Gino's", "name.pizza": "four cheese|a veggie supreme|Hawaiian",
         "size.pizza": "large|a medium|16 inch"},
        {"type.topping": "jalapeño|extra mushrooms|olives on one half", "type.crust": "thin crust|hand tossed",
         "preference": "well done|cut in squares", "location.store": PLACES},
    ),
    Domain(
        "auto", "auto_repair", "appointment", "auto-repair",
        {"name.store": "Gearworks|Lane Garage|Miller Auto", "name.customer": "Dana Novák|Bob Reyes|Mrs. Lindqvist",
         "date.appt": "next Tuesday|the 14th|Friday", "time.appt": CLOCK},
        {"reason.appt": "a squeaking brake|an oil change|the engine light", "name.vehicle": "a Civic|my old Volvo",
         "year.vehicle": "2014|an '09", "location.store": PLACES},
    ),
)  # fmt: skip
"""The six domains in the order of the ontology; labels as published, values invented."""
