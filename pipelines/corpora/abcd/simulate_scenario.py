"""The scenarios of a generated ABCD release: who the customer is, what was ordered, and what the customer was told."""

from __future__ import annotations

import random

from pipelines.corpora.abcd import simulate_documents as documents

LEVELS = ("guest", "bronze", "silver", "gold")
STREETS = ("Birch Row", "Canal St", "Dover Ave", "Elm Court", "Foundry Lane", "Glen Rd")
CITIES = ("ashford", "brookville", "cedar point", "dunmore", "eastham", "fairmont")
STATES = ("ca", "ny", "tx", "wa", "ma", "nc")


def question_of(flow: str, intent: str, rng: random.Random) -> str:
    """The scenario's subflow: with a question number in the FAQ flows."""
    if flow not in documents.FAQ_FLOWS:
        return intent
    kind = f"_{rng.choice(documents.KINDS)}" if flow == "single_item_query" else ""
    return f"{intent}{kind}_{rng.randint(1, 4)}"


def invent_customer(rng: random.Random) -> dict[str, str]:
    """Everything that can be said about a customer and an order, by the names of the slots."""
    name = rng.choice(documents.ENUMERABLE["customer_name"])
    first, last = name.lower().split()
    username = f"{first[0]}{last}{rng.randint(100, 999)}"
    street = f"{rng.randint(1, 9999)} {rng.choice(STREETS)}".lower()
    city, state, zip_code = rng.choice(CITIES), rng.choice(STATES), f"{rng.randrange(100_000):05d}"
    return {
        "name": name,
        "level": rng.choice(LEVELS),
        "phone": f"({rng.randint(200, 999)}) {rng.randint(200, 999)}-{rng.randrange(10_000):04d}",
        "email": f"{username}@email.com",
        "username": username,
        "account_id": documents.BRANDS[0][:2].upper() + f"{rng.getrandbits(28):08d}",
        "order_id": f"{rng.randrange(10**10):010d}",
        "street_address": street,
        "city": city,
        "state": state,
        "zip_code": zip_code,
        "full_address": f"{street}  {city}, {state} {zip_code}",
        "product": f"{rng.choice(documents.BRANDS)} {rng.choice(documents.ITEMS)}",
        "amount": str(rng.choice((34, 49, 54, 69, 74, 89, 94, 99))),
    }


def invent_scenario(flow: str, subflow: str, values: dict[str, str], entered: set[str], rng: random.Random) -> dict:
    """What the customer was told; several keys are there or not, as in the release, but what is entered is known."""
    personal = {"customer_name": values["name"].lower(), "member_level": values["level"], "phone": values["phone"]}
    order = {key: values[key] for key in ("street_address", "full_address", "city", "state", "zip_code")}
    product = {"names": [], "amounts": []}
    if flow != "storewide_query":
        brand, _, item = values["product"].rpartition(" ")
        amount = int(values["amount"])
        product = {"names": [values["product"]], "amounts": [amount]}
        sold = {"brand": brand.replace(" ", "_"), "product_type": item, "amount": amount}
        sold["image_url"] = f"images/{item}.jpeg"
        order |= {"num_products": "1", "order_id": values["order_id"], "products": str([sold])}
        order |= {"packaging": rng.choice(("yes", "no")), "payment_method": rng.choice(("credit card", "gift balance"))}
        order |= {"purchase_date": f"2019-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"}
        personal |= {key: values[key] for key in ("email", "username") if rng.random() < 0.8 or values[key] in entered}
    if flow == "shipping_issue":
        order["shipping_status"] = rng.choice(documents.ENUMERABLE["shipping_option"])
    if rng.random() < 0.3 or not entered.isdisjoint((values["account_id"], values["account_id"].lower())):
        personal["account_id"] = values["account_id"]
    return {"personal": personal, "order": order, "product": product, "flow": flow, "subflow": subflow}
