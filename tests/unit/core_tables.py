"""The empty tables of the schema `core`, with the columns and types of the contract, for tests by hand.

Other columns of the dbt models are left out, so that no audit relies on them; but every table has a `corpus_id`.
"""

from __future__ import annotations

from typing import Any

import duckdb

TABLES = {
    "dim_corpora": "corpus_id title homepage license citation release is_generated goal_kind",
    "dim_source_files": "source_file_id corpus_id path release_form source_part parts bytes sha256 verification"
    " is_generated record_count",
    "dim_dialogues": "dialogue_key corpus_id split source_split source_part dialogue_id source_file_id record_index"
    " record_pointer task source_task channel collection_method turn_count utterance_count outcome_reward",
    "dim_dialogue_services": "dialogue_key corpus_id split position service domain",
    "dim_participants": "dialogue_key source_speaker participant_type reward",
    "dim_speakers": "corpus_id source_speaker role",
    "dim_agents": "agent_id source_name description position ballot_position",
    "dim_acts": "corpus_id act act_occurrence act_group action_type position description",
    "dim_act_slots": "corpus_id act act_occurrence position slot",
    "dim_services": "service_definition_key corpus_id split service domain source_name vertical description position",
    "dim_flows": "corpus_id flow position",
    "dim_intents": "intent_key corpus_id split service intent position description is_transactional parent_intent",
    "dim_intent_slots": "intent_key slot requirement position default_value",
    "dim_intent_acts": "corpus_id intent position act",
    "dim_slots": "slot_definition_key corpus_id split service slot slot_group position description is_categorical"
    " possible_values requirement",
    "dim_guidelines": "guideline_key position flow_title flow_description subflow_title intent instructions",
    "dim_guideline_steps": "guideline_key step_index step_type button act text subtext",
    "dim_vocabulary": "corpus_id kind position term",
    "dim_candidate_utterances": "candidate_id utterance",
    "dim_split_members": "source_file_id record_index corpus_id split dialogue_id dialogue_key",
    "dim_scenarios": "scenario_key corpus_id split scenario_id flow subflow",
    "dim_scenario_values": "scenario_key section field value_index value",
    "dim_scenario_attributes": "scenario_key position attribute value_type is_unique alpha",
    "fct_turns": "turn_key dialogue_key corpus_id split turn_index source_turn_number role source_speaker event_type"
    " source_event_type utterance delexicalized_utterance occurred_at source_time intent next_step segment_count",
    "fct_frames": "frame_key turn_key dialogue_key corpus_id split turn_index frame_index service active_intent"
    " requested_slots",
    "fct_actions": "action_key turn_key dialogue_key corpus_id split turn_index frame_index role action_index"
    " action_type service act slot_name action_values canonical_values item_index",
    "fct_slots": "slot_key turn_key dialogue_key corpus_id split turn_index frame_index role annotation_type service"
    " slot_name source_label action_index span_index annotation_index value_index value integer_value canonical_value"
    " start_char end_char status",
    "fct_votes": "vote_key dialogue_key corpus_id split voted_for agent_id votes is_selected gold_position",
    "fct_responses": "response_key dialogue_key corpus_id split agent_id response",
    "fct_classifier_examples": "example_key source_file_id record_index corpus_id split utterance labels dialogue_key",
    "fct_service_calls": "call_key turn_key dialogue_key corpus_id split turn_index frame_index service method"
    " result_count",
    "fct_service_results": "result_key call_key turn_key dialogue_key corpus_id split turn_index frame_index service"
    " result_index entity",
    "fct_candidates": "candidates_key turn_key dialogue_key corpus_id split turn_index candidate_ids target_position",
    "fct_knowledge_items": "knowledge_key dialogue_key corpus_id split agent item_index attribute_index attribute"
    " value integer_value is_shared",
    "source_exceptions": "source_file_id json_pointer form",
    "source_extras": "source_file_id json_pointer value",
    "source_quarantine": "source_file_id record_index record_pointer error value",
}
"""Table -> columns."""

TYPES = {
    "bytes": "bigint",
    "alpha": "double",
    "reward": "double",
    "occurred_at": "timestamp",
    "entity": "map(varchar, varchar)",
    "candidate_ids": "integer[]",
    **dict.fromkeys(
        ("parts", "instructions", "subtext", "requested_slots", "action_values", "canonical_values", "labels"),
        "varchar[]",
    ),
    **dict.fromkeys(("possible_values",), "varchar[]"),
    **dict.fromkeys(
        ("is_transactional", "is_categorical", "is_unique", "is_selected", "is_shared", "is_generated"), "boolean"
    ),
    **dict.fromkeys(
        ("record_count", "record_index", "turn_count", "utterance_count", "outcome_reward", "position", "step_index"),
        "integer",
    ),
    **dict.fromkeys(
        ("candidate_id", "value_index", "turn_index", "source_turn_number", "segment_count", "frame_index", "votes"),
        "integer",
    ),
    **dict.fromkeys(
        ("action_index", "item_index", "span_index", "annotation_index", "start_char", "end_char", "gold_position"),
        "integer",
    ),
    **dict.fromkeys(("result_count", "result_index", "target_position", "attribute_index"), "integer"),
    **dict.fromkeys(("ballot_position", "integer_value"), "integer"),
}
"""Column -> type, if that is not varchar. A column has the same type in all tables."""


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the schema and every table, empty, and the violations that an expectation reads."""
    connection.execute("create schema core")
    for table, columns in TABLES.items():
        names = dict.fromkeys([*columns.split(), "corpus_id"])
        typed = ", ".join(f"{column} {TYPES.get(column, 'varchar')}" for column in names)
        connection.execute(f"create table core.{table} ({typed})")
    connection.execute("create schema quality")
    connection.execute("create table quality.violations (rule_id varchar, corpus_id varchar, row_key varchar)")


def insert(connection: duckdb.DuckDBPyConnection, table: str, *rows: dict[str, Any]) -> None:
    """Insert rows into a table of core; columns that a row does not name are NULL."""
    for row in rows:
        marks = ", ".join("?" * len(row))
        connection.execute(f"insert into core.{table} ({', '.join(row)}) values ({marks})", list(row.values()))
