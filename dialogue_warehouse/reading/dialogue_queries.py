"""The queries for dialogues, by table. Each takes `$first` and `$last` of the keys, and for several also `$keys`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def asked(column: str = "dialogue_key") -> str:
    """Return the condition for the rows of the asked dialogues. The range lets DuckDB skip most of a table."""
    return f"{column} between $first and $last and {column} in (select unnest($keys))"


AMONG = re.compile(r" and [a-z_.]+ in \(select unnest\(\$keys\)\)")
"""The part of `asked` that one dialogue does not need. DuckDB takes a fifth of the time to plan it."""


def parameters_of(keys: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a query for these dialogues, at least one."""
    return {"keys": list(keys), "first": min(keys), "last": max(keys)}


def parameters_of_one(key: str) -> dict[str, Any]:
    """Return the parameters of a query for one dialogue."""
    return {"first": key, "last": key}


OTHER = "annotation_type not in ('span', 'state', 'action_value', 'selection', 'call_parameter')"
"""The rows of `core.fct_slots` of a kind that no other part of a dialogue shows."""

HEAD = f"""
    select
        dialogues.*,
        corpora.title,
        corpora.goal_kind,
        files.verification = 'simulated' as is_generated,
        scenarios.scenario_id,
        scenarios.flow,
        scenarios.subflow,
        scenarios.scenario_key
    from core.dim_dialogues as dialogues
    inner join core.dim_corpora as corpora
        on dialogues.corpus_id = corpora.corpus_id
    inner join core.dim_source_files as files
        on dialogues.source_file_id = files.source_file_id
    left join core.dim_scenarios as scenarios
        on dialogues.dialogue_key = scenarios.scenario_key
    where {asked("dialogues.dialogue_key")}
"""
"""One row per dialogue, with the data that occur once in it."""

QUERIES = {
    "head": HEAD,
    "services": f"""
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
        where {asked("used.dialogue_key")}
        group by used.dialogue_key, used.position, used.service, used.domain
        order by used.position
    """,
    "turns": f"""
        with places as (  -- what core.json_pointer does, once for all these turns: the query takes half the time
            select
                dialogues.dialogue_key,
                dialogues.record_pointer,
                forms.pointer_form
            from core.dim_dialogues as dialogues
            inner join core.dim_pointer_forms as forms
                on dialogues.corpus_id = forms.corpus_id
            where {asked("dialogues.dialogue_key")} and forms.key_form = '/{{turn}}'
        ),

        single as (
            select
                traced_key,
                json_pointer
            from core.dim_key_pointers
            where traced_key >= $first and traced_key < $last || '0'  -- the character after /
        )

        select
            turns.dialogue_key,
            turns.turn_key,
            turns.turn_index,
            turns.source_turn_number,
            turns.role,
            turns.source_speaker,
            turns.event_type,
            turns.source_event_type,
            turns.utterance,
            turns.delexicalized_utterance,
            turns.occurred_at,
            turns.intent,
            turns.next_step,
            coalesce(
                places.record_pointer || replace(places.pointer_form, '{{turn}}', turns.turn_index::varchar),
                single.json_pointer
            ) as json_pointer
        from core.fct_turns as turns
        left join places
            on turns.dialogue_key = places.dialogue_key
        left join single
            on turns.turn_key = single.traced_key
        where {asked("turns.dialogue_key")}
        order by turns.turn_index
    """,
    "frames": f"""
        select
            dialogue_key,
            turn_key,
            frame_key,
            service,
            active_intent,
            requested_slots
        from core.fct_frames
        where {asked()} and active_intent <> ''
        order by turn_index, frame_index
    """,
    "acts": f"""
        select
            turn_key,
            '[' || string_agg(
                to_json(struct_pack(
                    key := action_key,
                    type := action_type,
                    service := service,
                    act := act,
                    slot := slot_name,
                    values := coalesce(action_values, []),
                    canonical_values := canonical_values,
                    guideline_steps := []
                ))::varchar,
                ',' order by frame_index, action_index
            ) || ']' as acts
        from core.fct_actions
        where {asked()} and action_type <> 'selection'
        group by turn_key
    """,
    "spans": f"""
        select
            turn_key,
            '[' || string_agg(
                to_json(struct_pack(
                    key := slot_key,
                    start := start_char,
                    "end" := end_char,
                    text := value,
                    service := service,
                    slot := slot_name,
                    source_label := source_label,
                    annotation_index := annotation_index,
                    status := status
                ))::varchar,
                ',' order by frame_index, span_index, annotation_index, slot_key
            ) || ']' as spans
        from core.fct_slots
        where {asked()} and annotation_type = 'span'
        group by turn_key
    """,
    "annotations": f"""
        select
            turn_key,
            '[' || string_agg(
                to_json(struct_pack(
                    key := slot_key,
                    type := annotation_type,
                    service := service,
                    slot := slot_name,
                    value := value
                ))::varchar,
                ',' order by annotation_type, frame_index, span_index, annotation_index, value_index, slot_key
            ) || ']' as annotations
        from core.fct_slots
        where {asked()} and {OTHER}
        group by turn_key
    """,
    "parameters": f"""
        select
            dialogue_key,
            turn_key,
            frame_index,
            slot_name,
            value
        from core.fct_slots
        where {asked()} and annotation_type = 'call_parameter'
        order by turn_index, frame_index, span_index, annotation_index, slot_key
    """,
    "state_slots": f"""
        select
            frame_key,
            '[' || string_agg(
                to_json(struct_pack(
                    key := frame_key || '/state/'
                        || replace(replace(replace(slot_name, '%', '%25'), '/', '%2F'), '~', '%7E'),
                    slot := slot_name,
                    change := change,
                    value := value,
                    variants := variants,
                    previous_value := previous_value
                ))::varchar,
                ',' order by slot_name
            ) || ']' as slots
        from analytics.belief_states
        where {asked()}
        group by frame_key
    """,
    "selections": f"""
        from analytics.selections
        where {asked()}
        order by selection_index
    """,
    "calls": f"""
        select
            dialogue_key,
            turn_key,
            frame_index,
            call_key,
            service,
            method,
            result_count
        from core.fct_service_calls
        where {asked()}
        order by turn_index, frame_index
    """,
    "results": f"""
        select
            turn_key,
            frame_index,
            '[' || string_agg(
                to_json(struct_pack(key := result_key, entity := entity))::varchar,
                ',' order by result_index
            ) || ']' as results
        from core.fct_service_results
        where {asked()}
        group by turn_key, frame_index
    """,
    "candidates": f"""
        from core.fct_candidates
        where {asked()}
        order by turn_index
    """,
    "candidate_texts": f"""
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
            where {asked()}
        ) as wanted
        inner join core.dim_candidate_utterances as texts
            on
                wanted.corpus_id = texts.corpus_id
                and wanted.candidate_id = texts.candidate_id
        group by wanted.dialogue_key, wanted.candidate_id
    """,
    "answers": f"""
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
        from (from core.fct_votes where {asked()}) as votes
        full join (from core.fct_responses where {asked()}) as responses
            on
                votes.dialogue_key = responses.dialogue_key
                and votes.agent_id = responses.agent_id
        left join core.dim_agents as agents
            on
                coalesce(votes.corpus_id, responses.corpus_id) = agents.corpus_id
                and coalesce(votes.agent_id, responses.agent_id) = agents.agent_id
        order by agents.ballot_position nulls first, option
    """,
    "knowledge": f"""
        from core.fct_knowledge_items
        where {asked()}
        order by agent, item_index, attribute_index
    """,
    "participants": f"""
        from core.dim_participants
        where {asked()}
        order by source_speaker
    """,
    "attributes": f"""
        select
            *,
            scenario_key as dialogue_key
        from core.dim_scenario_attributes
        where {asked("scenario_key")}
        order by position
    """,
    "scenario_values": f"""
        select
            *,
            scenario_key as dialogue_key
        from core.dim_scenario_values
        where {asked("scenario_key")}
        order by section, field, value_index
    """,
    "guidelines": f"""
        select
            dialogues.dialogue_key,
            guidelines.guideline_key,
            guidelines.flow_title,
            guidelines.subflow_title,
            guidelines.instructions,
            conformances.conformance,
            conformances.missing_acts,
            conformances.extra_acts
        from core.dim_dialogues as dialogues
        inner join core.dim_guidelines as guidelines
            on
                dialogues.corpus_id = guidelines.corpus_id
                and dialogues.task = guidelines.intent
        left join analytics.guideline_conformance as conformances
            on dialogues.dialogue_key = conformances.dialogue_key
        where {asked("dialogues.dialogue_key")}
        order by guidelines.position
    """,
    "steps": f"""
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
        where {asked("dialogues.dialogue_key")}
        order by steps.guideline_key, steps.step_index
    """,
    "prescribed": f"""
        select
            dialogues.dialogue_key,
            prescribed.act
        from core.dim_intent_acts as prescribed
        inner join core.dim_dialogues as dialogues
            on
                prescribed.corpus_id = dialogues.corpus_id
                and prescribed.intent = dialogues.task
        where {asked("dialogues.dialogue_key")}
        order by prescribed.position
    """,
    "violations": f"""
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
        where {asked("violations.dialogue_key")}
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
"""The rows of dialogues, in the order in which they are shown."""
QUERIES_OF_ONE = {name: AMONG.sub("", query) for name, query in QUERIES.items()}
"""The same for one dialogue."""

SOME = {
    "frames": "core.fct_frames",
    "acts": "core.fct_actions",
    "spans": "core.fct_slots where annotation_type = 'span'",
    "annotations": f"core.fct_slots where {OTHER}",
    "selections": "analytics.selections",
    "calls": "core.fct_service_calls",
    "candidates": "core.fct_candidates",
    "answers": "(select corpus_id from core.fct_votes union all select corpus_id from core.fct_responses)",
    "knowledge": "core.fct_knowledge_items",
    "participants": "core.dim_participants",
    "attributes": "core.dim_scenario_attributes",
    "scenario_values": "core.dim_scenario_values",
    "guidelines": "core.dim_guidelines",
    "steps": "core.dim_guideline_steps",
    "prescribed": "core.dim_intent_acts",
}
"""The queries that find rows for some corpora only, and where these have rows."""
CORPORA = " union all ".join(f"select distinct '{name}' as name, corpus_id from {rows}" for name, rows in SOME.items())
"""Each query of SOME with the corpora for which it finds rows."""
