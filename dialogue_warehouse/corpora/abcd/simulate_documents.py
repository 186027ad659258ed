"""The documents and scenarios of a generated ABCD release: ontology, guidelines, candidate utterances, customers.

Names of flows, subflows, buttons and slots are the release's vocabulary; values and texts are invented. The buttons of
a subflow are invented too, with as many steps of each type as the release has (data_facts section 5).
"""

from __future__ import annotations

import functools
import random

FLOWS = {
    "account_access": "recover_username recover_password reset_2fa",
    "manage_account": "status_service_added status_service_removed status_shipping_question status_credit_missing "
    "manage_change_address manage_change_name manage_change_phone manage_payment_method",
    "order_issue": "status_mystery_fee status_delivery_time status_payment_method status_quantity "
    "manage_upgrade manage_downgrade manage_create manage_cancel",
    "product_defect": "refund_initiate refund_update refund_status return_stain return_color return_size",
    "purchase_dispute": "bad_price_competitor bad_price_yesterday out_of_stock_general out_of_stock_one_item "
    "promo_code_invalid promo_code_out_of_date mistimed_billing_already_returned mistimed_billing_never_bought",
    "shipping_issue": "status manage missing cost",
    "single_item_query": "boots shirt jeans jacket",
    "storewide_query": "pricing membership timing policy",
    "subscription_inquiry": "status_active status_due_amount status_due_date manage_pay_bill manage_extension "
    "manage_dispute_bill",
    "troubleshoot_site": "credit_card shopping_cart search_results slow_speed",
}
"""Subflows of each flow, in the order of the ontology."""
FAQ_FLOWS = ("single_item_query", "storewide_query")
GUIDELINE_FLOWS = (
    "Product Defect", "Order Issue", "Account Access", "Troubleshoot Site", "Manage Account", "Purchase Dispute",
    "Shipping Issue", "Subscription Inquiry", "Single-Item Query", "Storewide Query",
)  # fmt: skip
"""Flow titles in the order of the guidelines, which is not that of the ontology."""
TITLES = {
    "return_stain": "Return Due to Stain", "return_color": "Return Due to Color", "return_size": "Return Due to Size",
    "reset_2fa": "Reset Two-Factor Auth", "credit_card": "Invalid Credit Card", "shopping_cart": "Cart Not Updating",
    "search_results": "Search Not Working", "slow_speed": "Website Too Slow", "status": "Shipping Status",
    "manage": "Manage Shipping", "missing": "Missing Item", "cost": "Shipping Cost",
    "refund_initiate": "Initiate Refund", "refund_update": "Update Refund",
    "out_of_stock_general": "Out-of-Stock General", "out_of_stock_one_item": "Out-of-Stock One Item",
    "promo_code_out_of_date": "Promo Code Out of Date",
}  # fmt: skip
"""Titles of subflows whose title is not their name in title case; FAQ subflows end in ` FAQ`."""
ACTIONS = {
    "kb_query": {
        "verify-identity": ["customer_name", "account_id", "order_id", "zip_code"],
        "ask-the-oracle": [],
        "validate-purchase": ["username", "email", "order_id"],
        "make-password": [],
        "promo-code": [],
        "subscription-status": [],
    },
    "interaction": {
        "offer-refund": ["amount"],
        "make-purchase": ["product"],
        "record-reason": ["reason_slotval", "product", "street_address", "customer_name", "payment_method", "phone",
                          "refund_target"],
        "enter-details": ["details_slotval", "full_address", "account_id", "username", "email", "pin_number",
                          "security_answer"],
        "shipping-status": ["shipping_option"],
        "update-order": ["order_slotval", "change_option", "amount", "payment_method", "full_address"],
        "pull-up-account": ["customer_name", "account_id"],
        "update-account": ["account_slotval", "street_address", "customer_name", "payment_method", "phone"],
        "send-link": [],
        "notify-team": ["company_team"],
    },
    "faq_policy": {
        "membership": ["membership_level"],
        "search-faq": [],
        "try-again": [],
        "log-out-in": [],
        "instructions": [],
        "search-jeans": [],
        "search-shirt": [],
        "search-boots": [],
        "search-jacket": [],
        "search-pricing": [],
        "search-timing": [],
        "search-membership": [],
        "search-policy": [],
        "select-faq": ["single_item_query", "storewide_query"],
    },
}  # fmt: skip
CODES = {
    "P": "pull-up-account", "V": "verify-identity", "B": "validate-purchase", "O": "ask-the-oracle",
    "W": "make-password", "C": "promo-code", "Q": "subscription-status", "F": "offer-refund", "K": "make-purchase",
    "R": "record-reason", "D": "enter-details", "S": "shipping-status", "U": "update-order", "A": "update-account",
    "L": "send-link", "N": "notify-team", "M": "membership", "T": "try-again", "X": "log-out-in", "I": "instructions",
}  # fmt: skip
NEEDED = {
    "account_access": "PV PDW PDL",
    "manage_account": "PVOAF PVORA PVOSL PROC PVDA PVRA PVRA PVRA",
    "order_issue": "PVOMU PVOSU PVODU PVOSF PVMU PVSU PVMK PVSU",
    "product_defect": "PBRDF PBRF PBON PBMDU PBMDU PBMDU",
    "purchase_dispute": "PRMCN PRMCN PRNK PKCU POMC POMC PBOMF PBRMF",
    "shipping_issue": "PBSUL PBSU PBSKU PBMSU",
    "subscription_inquiry": "PVQL PVQD PVQRL PVDA PVMDA PVRDF",
    "troubleshoot_site": "RDTXK XTKI XTKI XTN",
}
"""Buttons of the subflows of each flow, by code."""
BUTTONS = {
    "pull-up-account": "Pull up Account", "membership": "Membership Privileges", "notify-team": "Notify Internal Team",
    "select-faq": "Select Answer", "search-faq": "Search FAQ", "log-out-in": "Log Out/In",
    "ask-the-oracle": "Ask the Oracle",
}  # fmt: skip
"""Captions of actions whose caption is not their name in title case; FAQ searches are named after their subject."""
STEP_TYPES = {"kb_query": "kb query", "interaction": "interaction", "faq_policy": "faq/policy"}
REMARKS, FAREWELLS = 23, 3
"""Number of steps without a button, and of steps that end the conversation."""
BRANDS = ("alder lane", "northwind", "pico & vale", "tailor bird")
ITEMS = ("boots", "jacket", "jeans", "shirt")
KINDS = ("how", "other")
TOPICS = ("membership", "policy", "pricing", "timing")
ENUMERABLE = {
    "account_slotval": ["start a plan", "renew a plan", "pause a plan", "end a plan"],
    "company_team": ["front desk", "warehouse", "web crew"],
    "customer_name": ["Amara Diallo", "Ben Castell", "Chiyo Mori", "Dov Lindgren", "Elena Petrov", "Farid Haddad",
                      "Gwen Marsh", "Hana Novak", "Ivo Santos", "June Okafor"],
    "details_slotval": ["walkthrough"],
    "membership_level": ["guest", "bronze", "silver", "gold"],
    "change_option": ["other address", "other day", "other hour", "other item", "other price", "other payment",
                      "other order"],
    "order_slotval": ["waive fee", "small credit", "in two days", "in a month", "stop parcel", "post it", "at the shop",
                      "pickup point"],
    "payment_method": ["credit card", "gift balance", "bank transfer"],
    "product": [f"{brand} {item}" for brand in BRANDS for item in ITEMS],
    "refund_target": ["credit card", "store credit", "voucher", "cheque"],
    "reason_slotval": ["plan refund", "older order", "leaflet", "newsletter", "partner", "radio", "other shop",
                       "last night", "a week", "three days"],
    "security_answer": ["Cooper", "Delgado", "Everett", "Kaur", "Osman"],
    "shipping_option": ["at the door", "on its way", "being packed", "at the depot"],
    "single_item_query": [f"{item}_{kind}_{count}" for item in ITEMS for kind in KINDS for count in range(1, 5)],
    "storewide_query": [f"{topic}_{number}" for topic in TOPICS for number in range(1, 5)],
}  # fmt: skip
"""127 values, two of them `credit card`, as in the release."""
NON_ENUMERABLE = {
    "product": ["amount", "name"],
    "personal": ["account_id", "email", "phone", "pin_number", "username"],
    "order": ["full_address", "order_id", "street_address", "zip_code"],
}
OPENERS = (
    "Alright,", "Sure,", "Thanks,", "Got it.", "One moment please,", "I understand.", "Okay,", "Great!", "Let me see,",
    "No problem,", "Perfect,", "Of course.", "I see,", "Thank you for waiting,", "Very well,", "Good news:",
    "Just a second,", "Oh,", "Well,", "Right,", "So,", "Understood,", "Certainly,", "Not to worry,", "Hello!",
    "Hi there,", "Sorry about that,", "Hm,", "Absolutely,", "Wonderful,",
)  # fmt: skip
BODIES = (
    "what is your full name", "can I have the account id", "may I ask for your order id",
    "please give me your username", "what is your email address", "which item is it about", "when did you buy it",
    "is the tag still on it", "I have found your order", "the parcel left our depot", "your refund is on its way",
    "I am checking our system", "I can offer you a refund", "that item is sold out", "we restock every week",
    "your plan is active", "I updated it", "the fee was a mistake", "I will remove the fee",
    "you should see the change soon", "please log in once more", "the code works for all orders",
    "that code has expired", "it was <amount>", "I have <email> on file", "is <username> correct",
    "the order number is <order_id>", "your zip code is <zip_code>", "is it still <phone>",
    "the account is <account_id>", "what is your membership level", "gold members get that for free",
    "guests have to wait a month", "let me ask my team", "they will call you back", "I wrote it down",
    "the purchase is confirmed", "I need to verify who you are", "how would you like to pay", "where should it go",
    "it arrives on friday", "can you try another card", "please clear the cart", "our site is slow today",
    "the boots are waterproof", "the jeans can be shortened", "the shirt comes in five colors",
    "a jacket is half price", "returns are free", "you have thirty days", "prices change every monday",
    "what else can I do", "have a lovely day", "is there anything else", "that is all set", "the link is on its way",
    "the new password is ready", "please answer your security question", "your pin comes by mail", "we close at nine",
)  # fmt: skip
CLOSERS = (
    ".", "?", "!", ", please.", ", if you do not mind.", ", just to be sure.", " for you.", ", thank you.",
    " right away.", " as far as I can see.", ", okay?", " today.", ", one more time.", " then.", " on my side.",
    ", as you asked.", " in a moment.", ", it seems.", ", no charge.", ", I promise.", ", sorry again.", " now.",
    ", by the way.", "...", " at last.", " before we go on.", " first.", " too.", ", I hope.", " this time.",
    ", good.", " as always.", " as well.", ", let me know.", ", would you?", ", right?", " for now.", ", I think.",
    ", it says.", " again.", " on file.", ", really.", " in full.", " so far.", ", at no cost.", " either way.",
    ", I am afraid.", ", it is quick.", " soon.", ", all good.",
)  # fmt: skip
STEP_TEXTS = (
    "Ask the customer for what is missing and press [{}] as soon as you have it.",
    "Use [{}] before anything else happens; it takes a moment, so tell the customer that you are looking.",
    "When the answer is not clear, press [{}] once more and go on with what it shows.",
    "Enter the value exactly as the customer wrote it, then press [{}] to continue with the next step.",
)
SUBTEXTS = (
    "If the customer does not know it, accept a guess and make a note for the back office.",
    "Gold and silver members may skip this when they have been with us for longer than half a year.",
    "Valid entries are listed beside the input field; anything else has to be asked for again.",
)
INSTRUCTIONS = (
    "Start by saying that you are sorry for the trouble and ask what happened.  Then do the following.",
    "At the end, ask in a friendly way whether there is anything else that the customer needs from us.",
)


def ontology() -> dict:
    """Return ontology.json."""
    return {
        "intents": {
            "flows": list(FLOWS),
            "subflows": {flow: subflows.split() for flow, subflows in FLOWS.items()},
        },
        "vocabulary": {"tokens": [], "special": ["[CLS]", "[SEP]", "[UNK]", "[AGENT]", "[CUSTOMER]", "[ACTION]"]},
        "actions": ACTIONS,
        "values": {"enumerable": ENUMERABLE, "non_enumerable": NON_ENUMERABLE},
        "next_steps": ["retrieve_utterance", "take_action", "end_conversation"],
    }


@functools.cache
def knowledge_base() -> dict[str, tuple[str, ...]]:
    """Return kb.json: the actions of each subflow."""
    needed = {}
    for flow, subflows in FLOWS.items():
        for position, subflow in enumerate(subflows.split()):
            if flow in FAQ_FLOWS:
                needed[subflow] = ("search-faq", f"search-{subflow}", "select-faq")
            else:
                needed[subflow] = tuple(CODES[code] for code in NEEDED[flow].split()[position])
    return needed


def guidelines() -> dict[str, dict]:
    """Return guidelines.json: description and subflows of each flow; steps from the knowledge base."""
    steps = _guideline_steps()
    document = {}
    for title in GUIDELINE_FLOWS:
        flow = title.lower().replace(" ", "_").replace("-", "_")
        subflows = {
            _title(flow, subflow): {"actions": steps[subflow], "instructions": list(INSTRUCTIONS)}
            for subflow in FLOWS[flow].split()
        }
        document[title] = {"description": f"everything about {title.lower()}", "subflows": subflows}
    return document


def _title(flow: str, subflow: str) -> str:
    title = TITLES.get(subflow, subflow.replace("_", " ").title())
    return f"{title} FAQ" if flow in FAQ_FLOWS else title


def _guideline_steps() -> dict[str, list[dict]]:
    """Return the steps of each subflow: one per action, then a remark (first subflows) or a farewell (last ones)."""
    seen: dict[str, int] = {}
    steps = {}
    for position, (subflow, actions) in enumerate(knowledge_base().items()):
        steps[subflow] = []
        for action in actions:
            seen[action] = seen.get(action, 0) + 1
            steps[subflow].append(_step(*_caption(action, seen[action]), len(steps[subflow])))
        if position < REMARKS:
            steps[subflow].append(_step("communication", "N/A", position))
        elif position >= len(knowledge_base()) - FAREWELLS:
            steps[subflow].append(_step("communication", "End Conversation", position))
    return steps


def _caption(action: str, occurrence: int) -> tuple[str, str]:
    """Return type and button of a step; a few have another type or spelling, as in the release."""
    group = next(group for group, actions in ACTIONS.items() if action in actions)
    if action == "enter-details" and occurrence > 9:
        return "interaction" if occurrence == 10 else "communication", "Enter Detail"
    if action == "promo-code" and occurrence > 3:
        return "interaction", "Promo Code"
    if action.startswith("search-") and action != "search-faq":
        return STEP_TYPES[group], action.removeprefix("search-").title()
    return STEP_TYPES[group], BUTTONS.get(action, action.replace("-", " ").title())


def _step(kind: str, button: str, position: int) -> dict:
    text = STEP_TEXTS[(position + len(button)) % len(STEP_TEXTS)].format(button)
    return {"type": kind, "button": button, "text": text, "subtext": list(SUBTEXTS[: (position + len(text)) % 4])}


def candidate(index: int) -> str:
    """Return the agent's utterance with this number, with its capitals; utterances.json has it in lower case."""
    rest, closer = divmod(index, len(CLOSERS))
    rest, body = divmod(rest, len(BODIES))
    again, opener = divmod(rest, len(OPENERS))
    text = f"{OPENERS[opener]} {BODIES[body]}{CLOSERS[closer]}"
    return f"{text} ({again + 1})" if again else text


LEVELS = ("guest", "bronze", "silver", "gold")
STREETS = ("Birch Row", "Canal St", "Dover Ave", "Elm Court", "Foundry Lane", "Glen Rd")
CITIES = ("ashford", "brookville", "cedar point", "dunmore", "eastham", "fairmont")
STATES = ("ca", "ny", "tx", "wa", "ma", "nc")


def question_of(flow: str, intent: str, rng: random.Random) -> str:
    """Return the scenario's subflow, with a question number in the FAQ flows."""
    if flow not in FAQ_FLOWS:
        return intent
    kind = f"_{rng.choice(KINDS)}" if flow == "single_item_query" else ""
    return f"{intent}{kind}_{rng.randint(1, 4)}"


def invent_customer(rng: random.Random) -> dict[str, str]:
    """Invent all details of a customer and an order, by the names of the slots."""
    name = rng.choice(ENUMERABLE["customer_name"])
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
        "account_id": BRANDS[0][:2].upper() + f"{rng.getrandbits(28):08d}",
        "order_id": f"{rng.randrange(10**10):010d}",
        "street_address": street,
        "city": city,
        "state": state,
        "zip_code": zip_code,
        "full_address": f"{street}  {city}, {state} {zip_code}",
        "product": f"{rng.choice(BRANDS)} {rng.choice(ITEMS)}",
        "amount": str(rng.choice((34, 49, 54, 69, 74, 89, 94, 99))),
    }


def invent_scenario(flow: str, subflow: str, values: dict[str, str], entered: set[str], rng: random.Random) -> dict:
    """Return the scenario of the customer.

    Several keys may be absent, as in the release, but not those of values that are entered.
    """
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
        order["shipping_status"] = rng.choice(ENUMERABLE["shipping_option"])
    if rng.random() < 0.3 or not entered.isdisjoint((values["account_id"], values["account_id"].lower())):
        personal["account_id"] = values["account_id"]
    return {"personal": personal, "order": order, "product": product, "flow": flow, "subflow": subflow}
