"""What holds of every corpus in core, each with the change that must make it fail.

A check is SQL that selects the rows which break it; `{corpus}` stands for the corpus. Its twin is one statement on a
small copy of the tables. `needs` is the entity (dbt_project.yml, vars.corpora) without which the check has no subject.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that holds of every corpus that has the entity."""

    name: str
    breaks: str
    twin: str
    needs: str = "dialogues"


def key_of(table: str, key: str, expression: str, needs: str) -> Check:
    """A key says where its row stands; the twin makes one say something else."""
    return Check(
        f"{table}.{key} is built as the contract says",
        f"select {key} from core.{table} where corpus_id = '{{corpus}}' and {key} is distinct from ({expression})",
        f"update core.{table} set {key} = {key} || 'x' where rowid = (select min(rowid) from core.{table})",
        needs,
    )


def belongs(table: str, needs: str) -> Check:
    """corpus_id and split of a row are its dialogue's; the twin moves a row to another split."""
    return Check(
        f"{table} repeats corpus_id and split of its dialogue",
        f"""
        select facts.dialogue_key
        from core.{table} as facts
        left join core.dim_dialogues as dialogues on facts.dialogue_key = dialogues.dialogue_key
        where facts.corpus_id = '{{corpus}}' and (
            dialogues.dialogue_key is null
            or facts.corpus_id <> dialogues.corpus_id
            or facts.split is distinct from dialogues.split
        )
        """,
        f"update core.{table} set split = 'elsewhere' where rowid = (select min(rowid) from core.{table})",
        needs,
    )


def dense(table: str, group: str, ordinal: str, needs: str, where: str = "true") -> Check:
    """Ordinals count from 0 without gaps; the twin makes a gap."""
    return Check(
        f"{table}.{ordinal} counts from 0 in each {group}",
        f"""
        select {group}
        from core.{table}
        where corpus_id = '{{corpus}}' and {where}
        group by {group}
        having min({ordinal}) <> 0 or max({ordinal}) <> count(distinct {ordinal}) - 1
        """,
        f"update core.{table} set {ordinal} = {ordinal} + 1000 where rowid = "
        f"(select min(rowid) from core.{table} where {where})",
        needs,
    )


SEGMENT = "replace(replace(replace({0}, '%', '%25'), '/', '%2F'), '~', '%7E')"
PLACE = "case when frame_index is null then turn_key else turn_key || '/frame/' || frame_index end"

BATTERY = (
    Check(
        "every dialogue stands in a file of its corpus",
        """
        select dialogue_key from core.dim_dialogues as dialogues
        left join core.dim_source_files as files on dialogues.source_file_id = files.source_file_id
        where dialogues.corpus_id = '{corpus}' and files.corpus_id is distinct from dialogues.corpus_id
        """,
        "update core.dim_dialogues set source_file_id = 'nowhere' where rowid = 0",
    ),
    Check(
        "a dialogue key begins with corpus and part",
        f"""
        select dialogue_key from core.dim_dialogues
        where corpus_id = '{{corpus}}'
            and not starts_with(dialogue_key, corpus_id || '/' || {SEGMENT.format("source_part")} || '/')
        """,
        "update core.dim_dialogues set dialogue_key = 'x' || dialogue_key where rowid = 0",
    ),
    Check(
        "no two records of a file share their place",
        """
        select source_file_id, record_pointer from core.dim_dialogues
        where corpus_id = '{corpus}' group by all having count(*) > 1
        """,
        "insert into core.dim_dialogues select * from core.dim_dialogues limit 1",
    ),
    Check(
        "the shared split follows the publisher's word",
        """
        select dialogue_key from core.dim_dialogues
        where corpus_id = '{corpus}' and split is distinct from
            case source_split when 'dev' then 'validation' else source_split end
        """,
        "update core.dim_dialogues set split = 'elsewhere' where rowid = 0",
    ),
    Check(
        "turn_count and utterance_count are the rows of fct_turns",
        """
        select dialogues.dialogue_key from core.dim_dialogues as dialogues
        left join core.fct_turns as turns on dialogues.dialogue_key = turns.dialogue_key
        where dialogues.corpus_id = '{corpus}'
        group by dialogues.dialogue_key, dialogues.turn_count, dialogues.utterance_count
        having dialogues.turn_count <> count(turns.turn_key)
            or dialogues.utterance_count <> count(*) filter (where turns.event_type = 'utterance')
        """,
        "delete from core.fct_turns where rowid = (select min(rowid) from core.fct_turns)",
    ),
    Check(
        "every dialogue has a service or a domain",
        """
        select dialogues.dialogue_key from core.dim_dialogues as dialogues
        left join core.dim_dialogue_services as services on dialogues.dialogue_key = services.dialogue_key
        where dialogues.corpus_id = '{corpus}' and services.service is null and services.domain is null
        """,
        "delete from core.dim_dialogue_services where dialogue_key = "
        "(select min(dialogue_key) from core.dim_dialogue_services)",
    ),
    Check(
        "an utterance has a text and a known label a role",
        """
        select turn_key from core.fct_turns
        where corpus_id = '{corpus}' and ((event_type = 'utterance' and utterance is null) or role is null)
        """,
        "update core.fct_turns set utterance = null where rowid = "
        "(select min(rowid) from core.fct_turns where event_type = 'utterance')",
    ),
    Check(
        "each unknown speaker and event has a violation",
        """
        select turns.turn_key from core.fct_turns as turns
        left join quality.violations as violations
            on turns.turn_key = violations.row_key and violations.rule_id in ('unknown_speaker', 'unknown_event')
        where turns.corpus_id = '{corpus}' and (turns.role = 'unknown' or turns.event_type = 'other')
            and violations.rule_id is null
        """,
        "update core.fct_turns set role = 'unknown' where turn_key = (select min(turn_key) from core.fct_turns where "
        "turn_key not in (select row_key from quality.violations where rule_id in ('unknown_speaker', 'unknown_event')))",
    ),
    Check(
        "every speaker label is listed with its role",
        """
        select turns.turn_key from core.fct_turns as turns
        left join core.dim_speakers as speakers
            on turns.corpus_id = speakers.corpus_id and turns.source_speaker = speakers.source_speaker
        where turns.corpus_id = '{corpus}' and turns.source_speaker is not null
            and turns.role is distinct from speakers.role
        """,
        "update core.fct_turns set source_speaker = 'nobody' where rowid = (select min(rowid) from core.fct_turns)",
    ),
    Check(
        "every act is listed",
        """
        select actions.action_key from core.fct_actions as actions
        left join core.dim_acts as acts on actions.corpus_id = acts.corpus_id and actions.act = acts.act
        where actions.corpus_id = '{corpus}' and acts.act is null
        """,
        "update core.fct_actions set act = 'SHRUG' where rowid = (select min(rowid) from core.fct_actions)",
        "actions",
    ),
    Check(
        "a span lies inside its utterance",
        """
        select slot_key from core.fct_slots as slots
        inner join core.fct_turns as turns on slots.turn_key = turns.turn_key
        where slots.corpus_id = '{corpus}' and slots.annotation_type = 'span' and (
            slots.start_char < 0 or slots.start_char > slots.end_char or slots.end_char > coalesce(length(turns.utterance), 0)
        )
        """,
        "update core.fct_slots set end_char = 100000, start_char = 0, annotation_type = 'span' where rowid = "
        "(select min(rowid) from core.fct_slots)",
        "slots",
    ),
    Check(
        "only spans have offsets, and all of them do",
        """
        select slot_key from core.fct_slots
        where corpus_id = '{corpus}'
            and (annotation_type = 'span') <> (start_char is not null and end_char is not null)
        """,
        "update core.fct_slots set start_char = case when start_char is null then 1 end, end_char = 2 where rowid = "
        "(select min(rowid) from core.fct_slots)",
        "slots",
    ),
    Check(
        "no row is lost from the raw Parquet to core",
        """
        select entity from quality.row_accounting
        where corpus_id = '{corpus}' and (published <> staged or staged <> conformed or conformed <> core)
        """,
        "update quality.row_accounting set core = core - 1 where rowid = 0",
    ),
    Check(
        "the accounting is of rows, not of nothing",
        """
        select 'all zero' from quality.row_accounting
        where corpus_id = '{corpus}' having coalesce(sum(published), 0) = 0
        """,
        "delete from quality.row_accounting",
    ),
    key_of("fct_turns", "turn_key", "dialogue_key || '/' || turn_index", "turns"),
    key_of("fct_frames", "frame_key", "turn_key || '/frame/' || frame_index", "frames"),
    key_of("fct_actions", "action_key", f"{PLACE} || '/action/' || action_index", "actions"),
    key_of(
        "fct_slots",
        "slot_key",
        f"""{PLACE} || case annotation_type
            when 'span' then '/span/' || span_index || '/' || coalesce(annotation_index::varchar, '-')
            when 'state' then '/state/' || {SEGMENT.format("slot_name")} || '/' || coalesce(value_index::varchar, '-')
            when 'action_value' then '/action_value/' || action_index || '/' || value_index
            when 'selection' then '/selection/' || {SEGMENT.format("slot_name")}
            when 'call_parameter' then '/call_parameter/' || {SEGMENT.format("slot_name")}
        end""",
        "slots",
    ),
    key_of("fct_votes", "vote_key", f"dialogue_key || '/vote/' || {SEGMENT.format('voted_for')}", "votes"),
    key_of(
        "fct_responses", "response_key", f"dialogue_key || '/response/' || {SEGMENT.format('agent_id')}", "responses"
    ),
    key_of("fct_service_calls", "call_key", f"{PLACE} || '/call'", "service_calls"),
    key_of("fct_service_results", "result_key", f"{PLACE} || '/result/' || result_index", "service_results"),
    key_of("fct_candidates", "candidates_key", "turn_key || '/candidates'", "candidates"),
    key_of(
        "fct_knowledge_items",
        "knowledge_key",
        f"dialogue_key || '/item/' || agent || '/' || item_index || '/' || {SEGMENT.format('attribute')}",
        "knowledge_items",
    ),
    belongs("fct_turns", "turns"),
    belongs("fct_frames", "frames"),
    belongs("fct_actions", "actions"),
    belongs("fct_slots", "slots"),
    belongs("fct_votes", "votes"),
    belongs("fct_responses", "responses"),
    belongs("fct_service_calls", "service_calls"),
    belongs("fct_service_results", "service_results"),
    belongs("fct_candidates", "candidates"),
    belongs("fct_knowledge_items", "knowledge_items"),
    dense("fct_turns", "dialogue_key", "turn_index", "turns"),
    dense("fct_frames", "turn_key", "frame_index", "frames"),
    dense("fct_actions", "turn_key, frame_index", "action_index", "actions"),
    dense("fct_slots", "turn_key, frame_index", "span_index", "slots", "annotation_type = 'span'"),
    dense("fct_service_results", "turn_key, frame_index", "result_index", "service_results"),
    dense("dim_dialogue_services", "dialogue_key", "position", "dialogue_services"),
    dense("dim_scenario_attributes", "scenario_key", "position", "scenario_attributes"),
)
