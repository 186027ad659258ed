"""Records of the ABCD release (Action-Based Conversations Dataset v1.1; `data/` at commit 6b8700c).

Source: the repository's README and data_facts section 5a. The release's constants (a turn that retrieves nothing has
rank -1 and no candidates; `original` and `delexed` hold the same turns) are part of the schema.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from dialogue_warehouse.corpora.release import Container, Entity, Integer, note

Text = str | UnsetType


class Personal(Struct, forbid_unknown_fields=True):
    """The customer's details."""

    customer_name: Annotated[Text, note("full name")] = UNSET
    member_level: Annotated[Text, note("guest, bronze, silver or gold")] = UNSET
    phone: Annotated[Text, note("telephone number as text")] = UNSET
    email: Annotated[Text, note("address")] = UNSET
    username: Annotated[Text, note("account name")] = UNSET
    account_id: Annotated[Text, note("account number as text")] = UNSET


class Order(Struct, forbid_unknown_fields=True):
    """The order the conversation is about."""

    street_address: Annotated[Text, note("street and number")] = UNSET
    full_address: Annotated[Text, note("whole address")] = UNSET
    city: Annotated[Text, note("city")] = UNSET
    state: Annotated[Text, note("two letters")] = UNSET
    zip_code: Annotated[Text, note("digits as text")] = UNSET
    num_products: Annotated[Text, note("number as text")] = UNSET
    order_id: Annotated[Text, note("digits as text")] = UNSET
    packaging: Annotated[Text, note("yes or no")] = UNSET
    payment_method: Annotated[Text, note("how it was paid")] = UNSET
    products: Annotated[Text, note("a Python literal, not JSON")] = UNSET
    purchase_date: Annotated[Text, note("ISO date as text")] = UNSET
    shipping_status: Annotated[Text, note("where the parcel is")] = UNSET


class Product(Struct, forbid_unknown_fields=True):
    """The products named in the order."""

    names: Annotated[list[str], note("product names; empty in storewide queries")]
    amounts: Annotated[list[Integer], note("prices in dollars, by position")]


class Scenario(Struct, forbid_unknown_fields=True):
    """The scenario that the customer was given to play."""

    personal: Annotated[Personal, note("the customer")]
    order: Annotated[Order, note("the order")]
    product: Annotated[Product, note("the products")]
    flow: Annotated[str, note("one of 10 flows")]
    subflow: Annotated[str, note("subflow, with a question number in FAQ flows")]


class OriginalTurn(Struct, array_like=True, forbid_unknown_fields=True):
    """A turn as typed: a two-element array."""

    speaker: Annotated[str, note("agent, customer or action")]
    text: Annotated[str, note("the text as typed")]


class Targets(Struct, array_like=True, forbid_unknown_fields=True):
    """The targets that a model must predict at a turn: a five-element array."""

    intent: Annotated[str, note("subflow without its question number")]
    nextstep: Annotated[str | None, note("retrieve_utterance or take_action; null on customer turns")]
    action: Annotated[str | None, note("button pressed; null if none")]
    values: Annotated[list[str], note("values entered with the button")]
    utt_rank: Annotated[Integer, note("position of the correct utterance among the candidates; -1 if there are none")]


class DelexedTurn(Struct, forbid_unknown_fields=True):
    """A turn in delexicalized form, with its targets."""

    speaker: Annotated[str, note("agent, customer or action")]
    text: Annotated[str, note("lower-cased text with some values masked")]
    turn_count: Annotated[Integer, note("position from 1")]
    targets: Annotated[Targets, note("the five targets")]
    candidates: Annotated[list[Integer], note("100 indexes into utterances.json on retrieval turns")]

    def __post_init__(self) -> None:
        if self.targets.nextstep != "retrieve_utterance" and (self.candidates or self.targets.utt_rank != -1):
            raise ValueError("a turn that retrieves nothing has candidates or a rank")
        if self.targets.action is None and self.targets.values:
            raise ValueError("targets has values without an action")


class Conversation(Struct, forbid_unknown_fields=True):
    """One conversation."""

    convo_id: Annotated[Integer, note("id; unique over all splits as far as is known")]
    scenario: Annotated[Scenario, note("the scenario")]
    original: Annotated[list[OriginalTurn], note("the turns as typed")]
    delexed: Annotated[list[DelexedTurn], note("the same turns, delexicalized")]

    def __post_init__(self) -> None:
        if [turn.speaker for turn in self.original] != [turn.speaker for turn in self.delexed]:
            raise ValueError("original and delexed are not the same turns")


class OntologyIntents(Struct, forbid_unknown_fields=True):
    """Flows and their subflows."""

    flows: Annotated[list[str], note("10 flows")]
    subflows: Annotated[dict[str, list[str]], note("flow -> subflows, 55 in all")]


class OntologyVocabulary(Struct, forbid_unknown_fields=True):
    """Extra vocabulary of the authors' models."""

    tokens: Annotated[list[str], note("empty in the release")]
    special: Annotated[list[str], note("special tokens")]


class OntologyActions(Struct, forbid_unknown_fields=True):
    """The 30 buttons by group, each with the slots it takes."""

    kb_query: Annotated[dict[str, list[str]], note("queries to the knowledge base")]
    interaction: Annotated[dict[str, list[str]], note("interactions")]
    faq_policy: Annotated[dict[str, list[str]], note("FAQ and policy look-ups")]


class OntologyValues(Struct, forbid_unknown_fields=True):
    """The slots and the values of those that can be listed."""

    enumerable: Annotated[dict[str, list[str]], note("slot -> values")]
    non_enumerable: Annotated[dict[str, list[str]], note("group -> slots")]


class Ontology(Struct, forbid_unknown_fields=True):
    """ontology.json, one document."""

    intents: Annotated[OntologyIntents, note("flows and subflows")]
    vocabulary: Annotated[OntologyVocabulary, note("extra vocabulary")]
    actions: Annotated[OntologyActions, note("buttons")]
    values: Annotated[OntologyValues, note("slot values")]
    next_steps: Annotated[list[str], note("3 next steps")]


class GuidelineStep(Struct, forbid_unknown_fields=True):
    """One step that the agent guidelines prescribe."""

    type: Annotated[str, note("interaction, kb query, faq/policy or communication")]
    button: Annotated[str, note("caption of the button, or N/A")]
    text: Annotated[str, note("what to do")]
    subtext: Annotated[list[str], note("details")]


class GuidelineSubflow(Struct, forbid_unknown_fields=True):
    """The guideline of one subflow."""

    actions: Annotated[list[GuidelineStep], note("its steps")]
    instructions: Annotated[list[str], note("what to say first and last")]


class GuidelineFlow(Struct, forbid_unknown_fields=True):
    """The guidelines of one flow; its key in the file is the flow's title."""

    description: Annotated[str, note("what the flow is about")]
    subflows: Annotated[dict[str, GuidelineSubflow], note("subflow title -> guideline")]


ENTITIES = (
    Entity("conversations", Conversation, Container.SPLITS, r"abcd_v1\.1\.json\.gz"),
    Entity("utterances", str, Container.ARRAY, r"utterances\.json"),
    Entity("ontology", Ontology, Container.DOCUMENT, r"ontology\.json"),
    Entity("kb", list[str], Container.ENTRIES, r"kb\.json"),
    Entity("guidelines", GuidelineFlow, Container.ENTRIES, r"guidelines\.json"),
)
