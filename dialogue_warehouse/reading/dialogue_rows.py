"""The rows of dialogues, by table. Each query takes several dialogue keys and returns the key with each row."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import duckdb

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import Row, read_rows

HEAD = """
    select
        dialogues.*,
        corpora.title,
        corpora.goal_kind,
        files.verification = 'simulated' as is_generated,
        scenarios.scenario_id,
        scenarios.flow,
        scenarios.subflow,
        scenarios.scenario_key,
        guidelines.guideline_key,
        guidelines.flow_title,
        guidelines.subflow_title,
        guidelines.instructions,
        conformances.conformance,
        conformances.missing_acts,
        conformances.extra_acts
    from core.dim_dialogues as dialogues
    inner join core.dim_corpora as corpora
        on dialogues.corpus_id = corpora.corpus_id
    inner join core.dim_source_files as files
        on dialogues.source_file_id = files.source_file_id
    left join core.dim_scenarios as scenarios
        on dialogues.dialogue_key = scenarios.scenario_key
    left join core.dim_guidelines as guidelines
        on
            dialogues.corpus_id = guidelines.corpus_id
            and dialogues.task = guidelines.intent
    left join analytics.guideline_conformance as conformances
        on dialogues.dialogue_key = conformances.dialogue_key
    where dialogues.dialogue_key in (select unnest($keys))
    qualify row_number() over (partition by dialogues.dialogue_key order by guidelines.position) = 1
"""
"""One row per dialogue, with the data that occur once in it."""

QUERIES = {
    "services": """
        select
            used.dialogue_key,
            used.service,
            used.domain,
            min(services.description) as description
        from core.dim_dialogue_services as used
        left join core.dim_services as services
            on
                used.corpus_id = services.corpus_id
                and used.split is not distinct from services.split
                and used.service = services.service
        where used.dialogue_key in (select unnest($keys))
        group by used.dialogue_key, used.position, used.service, used.domain
        order by used.position
    """,
    "turns": """
        with turns as materialized (  -- the macro would look at the keys of all turns: 200 ms at scale 1 for 20
            from core.fct_turns
            where dialogue_key in (select unnest($keys))
        )

        select
            dialogue_key,
            turn_key,
            turn_index,
            source_turn_number,
            role,
            source_speaker,
            event_type,
            source_event_type,
            utterance,
            delexicalized_utterance,
            occurred_at,
            intent,
            next_step,
            core.json_pointer(turn_key) as json_pointer
        from turns
        order by turn_index
    """,
    "frames": """
        select
            dialogue_key,
            turn_key,
            frame_key,
            service,
            active_intent,
            requested_slots
        from core.fct_frames
        where dialogue_key in (select unnest($keys)) and active_intent <> ''
        order by turn_index, frame_index
    """,
    "acts": """
        select
            dialogue_key,
            turn_key,
            action_key,
            action_type,
            service,
            act,
            slot_name,
            action_values,
            canonical_values
        from core.fct_actions
        where dialogue_key in (select unnest($keys))
        order by turn_index, frame_index, action_index
    """,
    "spans": """
        select
            dialogue_key,
            turn_key,
            slot_key,
            start_char,
            end_char,
            value,
            service,
            slot_name,
            source_label,
            annotation_index,
            status
        from core.fct_slots
        where dialogue_key in (select unnest($keys)) and annotation_type = 'span'
        order by turn_index, frame_index, span_index, annotation_index, slot_key
    """,
    "parameters": """
        select
            dialogue_key,
            turn_key,
            frame_index,
            slot_name,
            value
        from core.fct_slots
        where dialogue_key in (select unnest($keys)) and annotation_type = 'call_parameter'
        order by turn_index, frame_index, span_index, annotation_index, slot_key
    """,
    "state_slots": """
        select
            dialogue_key,
            frame_key,
            slot_name,
            change,
            value,
            variants,
            previous_value
        from analytics.belief_states
        where dialogue_key in (select unnest($keys))
        order by turn_index, frame_index, slot_name
    """,
    "selections": """
        from analytics.selections
        where dialogue_key in (select unnest($keys))
        order by selection_index
    """,
    "calls": """
        select
            dialogue_key,
            turn_key,
            frame_index,
            call_key,
            service,
            method,
            result_count
        from core.fct_service_calls
        where dialogue_key in (select unnest($keys))
        order by turn_index, frame_index
    """,
    "results": """
        select
            dialogue_key,
            turn_key,
            frame_index,
            result_key,
            map_keys(entity) as slots,  -- two lists are read faster than a map
            map_values(entity) as slot_values
        from core.fct_service_results
        where dialogue_key in (select unnest($keys))
        order by turn_index, frame_index, result_index
    """,
    "candidates": """
        from core.fct_candidates
        where dialogue_key in (select unnest($keys))
        order by turn_index
    """,
    "candidate_texts": """
        select
            wanted.dialogue_key,
            wanted.candidate_id,
            min(texts.utterance) as utterance
        from (
            select
                dialogue_key,
                corpus_id,
                unnest(candidate_ids) as candidate_id
            from core.fct_candidates
            where dialogue_key in (select unnest($keys))
        ) as wanted
        inner join core.dim_candidate_utterances as texts
            on
                wanted.corpus_id = texts.corpus_id
                and wanted.candidate_id = texts.candidate_id
        group by wanted.dialogue_key, wanted.candidate_id
    """,
    "answers": """
        select
            coalesce(votes.dialogue_key, responses.dialogue_key) as dialogue_key,
            votes.vote_key,
            responses.response_key,
            coalesce(votes.voted_for, responses.agent_id) as option,
            coalesce(votes.agent_id, responses.agent_id) as agent_id,
            responses.response,
            votes.votes,
            coalesce(votes.is_selected, false) as is_selected,
            votes.gold_position
        from (from core.fct_votes where dialogue_key in (select unnest($keys))) as votes
        full join (from core.fct_responses where dialogue_key in (select unnest($keys))) as responses
            on
                votes.dialogue_key = responses.dialogue_key
                and votes.agent_id = responses.agent_id
        left join core.dim_agents as agents
            on
                coalesce(votes.corpus_id, responses.corpus_id) = agents.corpus_id
                and coalesce(votes.agent_id, responses.agent_id) = agents.agent_id
        order by agents.ballot_position nulls first, option
    """,
    "knowledge": """
        from core.fct_knowledge_items
        where dialogue_key in (select unnest($keys))
        order by agent, item_index, attribute_index
    """,
    "participants": """
        from core.dim_participants
        where dialogue_key in (select unnest($keys))
        order by source_speaker
    """,
    "attributes": """
        select
            *,
            scenario_key as dialogue_key
        from core.dim_scenario_attributes
        where scenario_key in (select unnest($keys))
        order by position
    """,
    "scenario_values": """
        select
            *,
            scenario_key as dialogue_key
        from core.dim_scenario_values
        where scenario_key in (select unnest($keys))
        order by section, field, value_index
    """,
    "steps": """
        select
            dialogues.dialogue_key,
            steps.*
        from core.dim_guideline_steps as steps
        inner join core.dim_guidelines as guidelines
            on steps.guideline_key = guidelines.guideline_key
        inner join core.dim_dialogues as dialogues
            on
                guidelines.corpus_id = dialogues.corpus_id
                and guidelines.intent = dialogues.task
        where dialogues.dialogue_key in (select unnest($keys))
        order by steps.guideline_key, steps.step_index
    """,
    "violations": """
        select
            violations.dialogue_key,
            violations.rule_id,
            violations.kind,
            -- What its own corpus says of a rule for all comes first.
            coalesce(max(rules.title) filter (where rules.corpus_id is not null), max(rules.title)) as title,
            violations.turn_index,
            violations.row_key,
            violations.other_key,
            violations.occurrence,
            violations.service,
            violations.slot_name,
            violations.detail
        from quality.violations as violations
        left join quality.violation_rules as rules
            on
                violations.rule_id = rules.rule_id
                and coalesce(rules.corpus_id, violations.corpus_id) = violations.corpus_id
        where violations.dialogue_key in (select unnest($keys))
        group by all
        order by
            violations.turn_index nulls first,
            violations.rule_id,
            violations.row_key,
            violations.detail,
            violations.other_key,
            violations.occurrence
    """,
}
"""The rows below the dialogue, in the order in which they are shown."""

MANY = ("turns", "frames", "acts", "spans", "parameters", "state_slots", "calls", "results")
"""The queries with most of the rows, which `read_many` reads."""
BATCH_ROWS = 2_000
"""Rows that are read at once; so most of them are gone before Python looks for cycles among them."""


class Rows:
    """The rows of one dialogue, without those of MANY."""

    def __init__(self, head: Row, of: dict[str, list[Row]]) -> None:
        self.head = head
        self.of = of

    def by(self, name: str, *columns: str) -> dict[Any, list[Row]]:
        """Group the rows of a query by the value of one column or of several."""
        return _grouped(self.of[name], *columns)


def read_rows_of(con: Connection, keys: Sequence[str]) -> list[Rows]:
    """Return the rows of each existing dialogue, in the order of the keys.

    Raises InputError if the published build lacks one of the tables or columns.
    """
    asked = {"keys": list(keys)}
    with _explained():
        heads = {row["dialogue_key"]: row for row in read_rows(con, HEAD, asked)}
        found = {
            name: _grouped(read_rows(con, query, asked), "dialogue_key")
            for name, query in QUERIES.items()
            if name not in MANY
        }
    return [Rows(heads[key], {name: of.get(key, []) for name, of in found.items()}) for key in keys if key in heads]


def read_many(con: Connection, name: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query of MANY for these dialogues, with the columns in their order.

    Raises InputError if the published build lacks one of the tables or columns.
    """
    with _explained():
        con.execute(QUERIES[name], {"keys": list(keys)})
    while batch := con.fetchmany(BATCH_ROWS):
        yield from batch


@contextlib.contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        raise InputError(
            "the published build was made by an older version and cannot show dialogues: build again"
        ) from error


def _grouped(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        values = tuple(row[column] for column in columns)
        groups[values[0] if len(columns) == 1 else values].append(row)
    return groups
