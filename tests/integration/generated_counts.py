"""What a release generated at scale 1 has to hold: every number that is documented as a count, in the form it is true.

Row ids are those of data_facts (B, M, T, A, S); `V` stands for the published tables of verification_targets, by their
section. Nothing here imports the project: the files are read by DuckDB, and each number is one query over them. Not
here is what only the words of the real releases can show: tokens and vocabularies, the number of different slot values,
average utterance lengths, example rows, and counts measured on a part of SGD.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb


@dataclass(frozen=True)
class Count:
    """One documented number, or a row or grid of numbers."""

    row: str
    what: str
    sql: str
    expected: Any
    """A number, a tuple for one row, a list of tuples for several, a dict of the first columns to the last ones."""
    at_any_scale: bool = False
    """It holds in the embedded sample too."""

    def answer(self, con: duckdb.DuckDBPyConnection) -> Any:
        """What the files say, in the form of what is expected."""
        rows = con.execute(self.sql).fetchall()
        if isinstance(self.expected, dict):
            key = next(iter(self.expected))
            if isinstance(key, tuple):
                return {row[: len(key)]: _value(row[len(key) :]) for row in rows}
            return {row[0]: _value(row[1:]) for row in rows}
        return rows if isinstance(self.expected, list) else _value(rows[0])


def _value(row: tuple) -> Any:
    return row[0] if len(row) == 1 else row


SGD_FRAME = """STRUCT(service VARCHAR, slots STRUCT(slot VARCHAR, "start" INTEGER, exclusive_end INTEGER)[],
    actions STRUCT(act VARCHAR, slot VARCHAR, "values" VARCHAR[], canonical_values VARCHAR[])[],
    state STRUCT(active_intent VARCHAR, requested_slots VARCHAR[], slot_values MAP(VARCHAR, VARCHAR[])),
    service_call STRUCT("method" VARCHAR, parameters MAP(VARCHAR, VARCHAR)), service_results MAP(VARCHAR, VARCHAR)[])"""
SGD_SERVICE = """{service_name: 'VARCHAR', slots: 'STRUCT(name VARCHAR, is_categorical BOOLEAN, possible_values VARCHAR[])[]',
    intents: 'STRUCT(name VARCHAR, required_slots VARCHAR[], result_slots VARCHAR[])[]'}"""
ABCD_TURN = '[{"speaker": "VARCHAR", "targets": ["JSON"], "candidates": ["INTEGER"]}]'

TABLES = {
    # BBAI
    "bbai_question": """
        select split, entry.key as utterance, entry.value as record, row_number() over (partition by split) as position
        from (
            select 'train' as split, unnest(map_entries(json)) as entry
            from read_json('{root}/bbai/train.json', records=false, columns={{json: 'MAP(VARCHAR, JSON)'}})
            union all
            select 'test', unnest(map_entries(json))
            from read_json('{root}/bbai/test.json', records=false, columns={{json: 'MAP(VARCHAR, JSON)'}})
        )""",
    "bbai_vote": """
        select split, utterance, intent, human, entry.key as option, entry.value as votes
        from (
            select *, record->>'intent' as intent, cast(record->'human' as varchar[]) as human,
                unnest(map_entries(cast(record->'human_vote' as map(varchar, integer)))) as entry
            from bbai_question
        )""",
    "bbai_response": """
        select split, utterance, entry.key as agent, entry.value->>'$' as response
        from (select split, utterance, unnest(map_entries(cast(record as map(varchar, json)))) as entry from bbai_question)
        where entry.key not in ('human_vote', 'intent', 'human')""",
    "bbai_gold": """
        select split, utterance, any_value(human) as human,
            list(option order by option) filter (where votes > 2 and option <> 'none') as agents,
            list(option order by option) filter (where votes > 3 and option <> 'none') as agreed,
            sum(votes) filter (where option = 'none') as none_votes, max(votes) as highest, sum(votes) as ballots
        from bbai_vote group by split, utterance""",
    "bbai_classifier": """
        select regexp_extract(filename, '(\\w+)_classifier', 1) as split, json->>0 as utterance,
            cast(json->1 as varchar[]) as labels
        from read_json('{root}/bbai/*_classifier.json', format='array', records=false, columns={{json: 'JSON'}},
            filename=true)""",
    "bbai_form": """
        select split, utterance, lower(utterance) as lowered,
            rtrim(trim(lower(utterance)), '.!?, ') as ended, regexp_replace(lower(utterance), '[^a-z0-9]', '', 'g') as bare
        from (
            select split, utterance from bbai_question where split = 'test'
            union all select split, utterance from bbai_classifier where split = 'train'
        )""",
    # MutualFriends
    "mutualfriends": """
        select regexp_extract(filename, '(\\w+)\\.json', 1) as split, * exclude (filename),
            list_transform(scenario.kbs, lambda items: list_distinct(list_transform(
                items, lambda item: list_sort(map_entries(item))))) as lists
        from read_json('{root}/mutualfriends/[a-z]*.json', format='array', filename=true, columns={{
            uuid: 'VARCHAR', scenario_uuid: 'VARCHAR', agents: 'MAP(VARCHAR, VARCHAR)', outcome: 'STRUCT(reward INTEGER)',
            scenario: 'STRUCT(uuid VARCHAR, alphas DOUBLE[], attributes STRUCT(name VARCHAR)[],
                kbs MAP(VARCHAR, VARCHAR)[][])',
            events: 'STRUCT("action" VARCHAR, data JSON, agent INTEGER, "time" VARCHAR, start_time DOUBLE)[]'}})""",
    # Taskmaster-1
    "taskmaster": """
        select regexp_extract(filename, '(\\w+)-dialogs', 1) as part, conversation_id, instruction_id, utterances,
            list_filter(utterances, lambda u: u.segments is not null) as annotated,
            list_filter(utterances, lambda u: u.text <> '(deleted)') as kept
        from read_json('{root}/taskmaster1/*-dialogs.json', format='array', filename=true, columns={{
            conversation_id: 'VARCHAR', instruction_id: 'VARCHAR',
            utterances: 'STRUCT("index" INTEGER, speaker VARCHAR, "text" VARCHAR, segments STRUCT(start_index INTEGER,
                end_index INTEGER, "text" VARCHAR, annotations STRUCT(name VARCHAR)[])[])[]'}})""",
    "taskmaster_segment": """
        select part, conversation_id, utterance, unnest(segments) as segment
        from (select part, conversation_id, u.text as utterance, u.segments as segments
            from (select part, conversation_id, unnest(annotated) as u from taskmaster))""",
    "taskmaster_member": """
        select regexp_extract(filename, '(\\w+)\\.csv', 1) as split, id, row_number() over () as line
        from read_csv('{root}/taskmaster1/train-dev-test/*.csv', header=false, columns={{id: 'VARCHAR', rest: 'VARCHAR'}},
            filename=true)""",
    "taskmaster_ontology": """
        select entry.key as domain, entry.value->>'id' as id, cast(entry.value->'required' as varchar[]) as required,
            cast(entry.value->'optional' as varchar[]) as optional
        from (select unnest(map_entries(json)) as entry from read_json('{root}/taskmaster1/ontology.json',
            records=false, columns={{json: 'MAP(VARCHAR, JSON)'}}))""",
    # ABCD
    "abcd": """
        select split, cast(conversation->>'convo_id' as integer) as id,
            conversation->'scenario'->>'flow' as flow, conversation->'scenario'->>'subflow' as subflow,
            list_transform(cast(conversation->'original' as varchar[][]), lambda turn: turn[1]) as speakers,
            from_json(conversation->'delexed', '"""
    + ABCD_TURN.replace("{", "{{").replace("}", "}}")
    + """') as turns
        from (
            select split, unnest(conversations) as conversation
            from (unpivot (from read_json('{root}/abcd/abcd_v1.1.json.gz', format='unstructured', records=true,
                    maximum_object_size=268435456, columns={{train: 'JSON[]', dev: 'JSON[]', test: 'JSON[]'}}))
                on train, dev, test into name split value conversations)
        )""",
    "abcd_turn": """
        select split, id, flow, subflow, turn.speaker as speaker, turn.targets[1]->>'$' as intent,
            turn.targets[2]->>'$' as next_step, turn.targets[3]->>'$' as act, turn.targets[5]::integer as rank,
            len(turn.candidates) as candidates
        from (select split, id, flow, subflow, unnest(turns) as turn from abcd)""",
    "abcd_ontology": "select json as document from read_json('{root}/abcd/ontology.json', records=false, columns={{json: 'JSON'}})",
    "abcd_value": """
        select slot.key as slot, unnest(slot.value) as value
        from (select unnest(map_entries(cast(document->'values'->'enumerable' as map(varchar, varchar[])))) as slot
            from abcd_ontology)""",
    "abcd_action": """
        select kind.key as kind, unnest(map_entries(kind.value)) as entry
        from (select unnest(map_entries(cast(document->'actions' as map(varchar, map(varchar, varchar[]))))) as kind
            from abcd_ontology)""",
    "abcd_subflow": """
        select flow.key as flow, unnest(flow.value) as subflow
        from (select unnest(map_entries(cast(document->'intents'->'subflows' as map(varchar, varchar[])))) as flow
            from abcd_ontology)""",
    "abcd_needed": """
        select entry.key as subflow, entry.value as acts
        from (select unnest(map_entries(cast(json as map(varchar, varchar[])))) as entry
            from read_json('{root}/abcd/kb.json', records=false, columns={{json: 'JSON'}}))""",
    "abcd_step": """
        select flow, subflow.key as subflow, unnest(
            from_json(subflow.value->'actions', '[{{"type": "VARCHAR", "button": "VARCHAR"}}]'), recursive := true)
        from (
            select entry.key as flow, unnest(map_entries(cast(entry.value->'subflows' as map(varchar, json)))) as subflow
            from (select unnest(map_entries(cast(json as map(varchar, json)))) as entry
                from read_json('{root}/abcd/guidelines.json', records=false, columns={{json: 'JSON'}}))
        )""",
    # SGD
    "sgd_dialogue": """
        select parts[1] as split, parts[2]::integer as file, parts[2]::integer <= case parts[1] when 'train' then 43
            when 'dev' then 7 else 11 end as single, dialogue_id, services, turns, row_number() over () as dialogue
        from (
            select *, string_split(regexp_replace(filename, '.*/(\\w+)/dialogues_(\\d+)\\.json', '\\1/\\2'), '/') as parts
            from read_json('{root}/sgd/*/dialogues_*.json', format='array', filename=true,
                columns={{dialogue_id: 'VARCHAR', services: 'VARCHAR[]', turns: 'STRUCT(speaker VARCHAR,
                    utterance VARCHAR, frames """
    + SGD_FRAME
    + """[])[]'}})
        )""",
    "sgd_turn": """
        select dialogue, split, single, turn_index, turn.speaker as speaker, turn.utterance as utterance,
            turn.frames as frames
        from (select dialogue, split, single, unnest(turns) as turn, generate_subscripts(turns, 1) as turn_index
            from sgd_dialogue)""",
    "sgd_frame": """
        select dialogue, split, single, turn_index, speaker, utterance, unnest(frames, recursive := false) as frame
        from sgd_turn""",
    "sgd_act": """
        select split, single, speaker, frame.service as service, unnest(frame.actions) as action from sgd_frame""",
    "sgd_span": """
        select dialogue, split, single, turn_index, frame.service as service, utterance, unnest(frame.slots) as span
        from sgd_frame""",
    "sgd_state": """
        select split, single, frame.service as service, unnest(map_keys(frame.state.slot_values)) as slot
        from sgd_frame where speaker = 'USER'""",
    "sgd_schema": """
        select regexp_extract(filename, '(\\w+)/schema', 1) as split, * exclude (filename)
        from read_json('{root}/sgd/*/schema.json', filename=true, columns="""
    + SGD_SERVICE.replace("{", "{{").replace("}", "}}")
    + ")",
}
"""Table -> how it is read from the files below `{root}`, in an order in which each finds what it needs."""

AGENTS = (
    "alexa", "google", "houndify", "recipe", "dictionary", "task_manager", "hotel", "stock", "math", "sport",
    "wikipedia", "mobile", "banking", "coffee", "event_search", "jokes", "reminders", "adasa", "covid",
)  # fmt: skip
DOMAINS = (
    "sports", "hotel", "wikipedia", "knowledge", "recipe", "jokes", "covid", "arithmetic", "time", "flight_info",
    "weather", "restaurant_suggestion", "age", "geography", "mobile", "alarm", "tip", "unit_convert", "translate",
    "reminders", "auto", "nutrition", "currency_convert", "event_search", "date", "todo", "coffee_shop", "banking",
    "calendar", "dictionary", "timer", "travel_suggestion", "traffic", "music", "rand", "directions", "stock",
)  # fmt: skip
SPLITS = ("train", "dev", "test")


def _alike(form: str) -> str:
    """How many forms a test question shares with a train example, and of how many questions each part repeats one."""
    return f"""
        select count(*) filter (where train > 0 and test > 0), sum(train - 1) filter (where train > 1),
            count(*) filter (where test > 1), sum(test - 1) filter (where test > 1)
        from (
            select {form}, count(*) filter (where split = 'train') as train,
                count(*) filter (where split = 'test') as test
            from bbai_form group by {form}
        )"""


def _gold(split: str) -> str:
    """Gold labels of each agent in a classifier file."""
    return f"select label, count(*) from (select unnest(labels) as label from bbai_classifier where split = '{split}') group by label"


def _named(names: tuple[str, ...], *numbers: int) -> dict[str, int]:
    return dict(zip(names, numbers, strict=True))


BBAI = [
    Count(
        "B01", "utterances by split",
        "select split, count(*) from bbai_question group by split",
        {"train": 3_700, "test": 1_850},
    ),
    Count(
        "B02", "agents that answer each question",
        "select min(n), max(n) from (select count(*) as n from bbai_response where response is not null group "
        "by split, utterance)",
        (19, 19), True,
    ),
    Count(
        "B03", "question-response pairs",
        "select count(*) from bbai_response",
        105_450,
    ),
    Count(
        "B04", "domains",
        "select distinct record->>'intent' as intent from bbai_question order by intent",
        [(domain,) for domain in sorted(DOMAINS)], True,
    ),
    Count(
        "B05", "questions per domain",
        "select split, min(n), max(n) from (select split, count(*) as n from bbai_question group by split, "
        "record->>'intent') group by split",
        {"train": (100, 100), "test": (50, 50)},
    ),
    Count(
        "B06", "test questions with an agreed agent, and those of them without none",
        "select count(*), count(*) filter (where not list_contains(human, 'none')) from bbai_gold where split "
        "= 'test' and agents is not null",
        (1_187, 1_186),
    ),
    Count(
        "B07", "train questions with an agreed agent",
        "select count(*) from bbai_gold where split = 'train' and agents is not null",
        2_399,
    ),
    Count(
        "B08", "questions with none that have an agreed agent",
        "select count(*) filter (where agents is not null), count(*) from bbai_gold where split = 'test' and "
        "list_contains(human, 'none')",
        (1, 664),
    ),
    Count(
        "B09", "why human has none: more than 2 votes, nobody with more",
        "select count(*) filter (where none_votes > 2), count(*) filter (where none_votes <= 2) from "
        "bbai_gold where split = 'test' and list_contains(human, 'none')",
        (140, 524),
    ),
    Count(
        "B09", "questions whose human is not the rule's",
        "select count(*) from bbai_gold where list_sort(human) <> list_sort(coalesce(agents, []) || case when "
        "none_votes > 2 or agents is null then ['none'] else [] end)",
        0, True,
    ),
    Count(
        "B09b", "questions whose human is more than 3 votes, without and with none",
        "select count(*) filter (where list_sort(human) = agreed), count(*) filter (where list_sort(human) = "
        "list_sort(coalesce(agreed, []) || case when none_votes > 3 then ['none'] else [] end)) from "
        "bbai_gold where split = 'test'",
        (359, 398),
    ),
    Count(
        "B10", "vote keys of each question, and votes for the stray one",
        "select min(n), max(n), sum(stray) from (select count(*) as n, sum(votes) filter (where option = "
        "'intent') as stray from bbai_vote group by split, utterance)",
        (21, 21, 0), True,
    ),
    Count(
        "B11", "agents",
        "select distinct agent from bbai_response order by agent",
        [(agent,) for agent in sorted(AGENTS)], True,
    ),
    Count(
        "B13", "classifier examples by split",
        "select split, count(*) from bbai_classifier group by split",
        {"train": 2_399, "test": 1_186},
    ),
    Count(
        "B14", "classifier examples that are not the answerable questions with their labels",
        "select count(*) from bbai_classifier full join (from bbai_gold where not list_contains(human, "
        "'none')) using (split, utterance) where labels is distinct from human",
        0, True,
    ),
    Count(
        "B14", "google's labels in test and in its classifier file",
        "select count(*) filter (where list_contains(human, 'google')), (select count(*) from bbai_classifier "
        "where split = 'test' and list_contains(labels, 'google')) from bbai_gold where split = 'test'",
        (571, 570),
    ),
    Count(
        "B17", "questions alike but for nothing",
        _alike("utterance"),
        (0, None, 0, None), True,
    ),
    Count(
        "B17", "questions alike but for case and ending",
        _alike("ended"),
        (30, 20, 8, 9),
    ),
    Count(
        "V2.1", "questions alike but for case and punctuation",
        _alike("bare"),
        (31, 22, 9, 10),
    ),
    Count(
        "B18", "votes, of these for none",
        "select sum(votes), sum(votes) filter (where option = 'none') from bbai_vote where split = 'test'",
        (12_885, 1_744),
    ),
    Count(
        "B18", "questions with the fewest votes, and with the most",
        "select count(*) filter (where ballots = 5), count(*) filter (where ballots = 19), min(ballots), "
        "max(ballots), max(highest) from bbai_gold where split = 'test'",
        (619, 1, 5, 19, 5),
    ),
    Count(
        "B18", "questions by the length of human",
        "select len(human), count(*) from bbai_gold where split = 'test' group by all",
        {1: 1_446, 2: 272, 3: 96, 4: 34, 5: 2},
    ),
    Count(
        "B18", "questions by the votes for none",
        "select none_votes, count(*) from bbai_gold where split = 'test' group by all",
        {0: 694, 1: 750, 2: 266, 3: 101, 4: 36, 5: 3},
    ),
    Count(
        "B18", "questions without a vote for an agent",
        "select count(*) from bbai_gold where split = 'test' and ballots = none_votes",
        3,
    ),
    Count(
        "B18", "labels of human: agents and none",
        "select count(*) filter (where label <> 'none'), count(*) filter (where label = 'none') from (select "
        "unnest(human) as label from bbai_gold where split = 'test')",
        (1_760, 664),
    ),
    Count(
        "B18", "fewest and most answerable test questions of a domain",
        "select min(n), max(n), arg_min(intent, n), arg_max(intent, n) from (select intent, count(distinct "
        "utterance) as n from bbai_vote where split = 'test' and not list_contains(human, 'none') group by "
        "intent)",
        (10, 42, "translate", "geography"),
    ),
    Count(
        "V2.1", "questions by their highest votes",
        "select highest, count(*) from bbai_gold where split = 'test' group by all",
        {1: 16, 2: 508, 3: 719, 4: 511, 5: 96},
    ),
    Count(
        "V2.1", "gold labels of each agent, test",
        _gold("test"),
        _named(AGENTS, 523, 570, 380, 5, 24, 14, 16, 8, 18, 16, 33, 25, 34, 7, 22, 5, 10, 41, 8),
    ),
    Count(
        "V2.1", "gold labels of each agent, train",
        _gold("train"),
        _named(AGENTS, 1093, 1197, 725, 15, 41, 20, 22, 20, 29, 26, 53, 38, 58, 25, 37, 5, 21, 81, 13),
    ),
    Count(
        "V2.1", "Table 3: right answers of one agent in percent",
        "select agent, floor(10000.0 * count(*) filter (where list_contains(labels, agent)) / count(*)) / 100 "
        "from bbai_classifier, unnest(['alexa', 'google', 'houndify', 'adasa']) as of(agent) where split = "
        "'test' group by agent",
        {"alexa": 44.09, "google": 48.06, "houndify": 32.04, "adasa": 3.45},
    ),
    Count(
        "V2.1", "answerable by alexa, google or houndify; by adasa too",
        "select count(*) filter (where list_has_any(labels, ['alexa', 'google', 'houndify'])), count(*) "
        "filter (where list_has_any(labels, ['alexa', 'google', 'houndify', 'adasa'])) from bbai_classifier "
        "where split = 'test'",
        (1_053, 1_089),
    ),
    Count(
        "B2d", "empty responses, and responses of more than one line",
        "select count(*) filter (where response = ''), count(*) filter (where contains(response, chr(10))) "
        "from bbai_response where split = 'test'",
        (44, 60),
    ),
    Count(
        "B2d", "questions that an agent does not understand",
        "select agent, count(*) from bbai_response where split = 'test' and (agent, response) in (('recipe', "
        "'Didn''t get that!'), ('adasa', 'Out of scope!')) group by agent",
        {"recipe": 1_819, "adasa": 1_102},
    ),
    Count(
        "B2d", "questions beyond ASCII",
        "select count(*) from bbai_question where split = 'test' and strlen(utterance) > length(utterance)",
        6, True,
    ),
]  # fmt: skip

MUTUALFRIENDS = [
    Count(
        "M01", "dialogues by file",
        "select split, count(*) from mutualfriends group by split",
        {"train": 8_967, "dev": 1_083, "test": 1_107},
    ),
    Count(
        "M02", "dialogues without two people and two lists of one length",
        "select count(*) from mutualfriends where cardinality(agents) <> 2 or len(scenario.kbs) <> 2 or "
        "len(scenario.kbs[1]) <> len(scenario.kbs[2])",
        0, True,
    ),
    Count(
        "M03", "dialogues without exactly one friend in both lists",
        "select count(*) from mutualfriends where len(list_intersect(lists[1], lists[2])) <> 1",
        0, True,
    ),
    Count(
        "M05", "other actions than message and select",
        "select count(*) from (select unnest(events) as event from mutualfriends) where event.action not in "
        "('message', 'select')",
        0, True,
    ),
    Count(
        "M06", "events that started",
        "select count(*) from (select unnest(events) as event from mutualfriends) where event.start_time is "
        "not null",
        0, True,
    ),
    Count(
        "M14", "dialogues, ids, scenarios",
        "select count(*), count(distinct uuid), count(distinct scenario_uuid) from mutualfriends",
        (11_157, 11_157, 11_157),
    ),
    Count(
        "M17", "scenarios with two ids",
        "select count(*) from mutualfriends where scenario.uuid <> scenario_uuid",
        0, True,
    ),
    Count(
        "V2.4", "completed dialogues, in percent",
        "select sum(outcome.reward), round(100 * avg(outcome.reward), 1) from mutualfriends",
        (9_041, 81.0),
    ),
    Count(
        "V2.4", "events of a completed dialogue",
        "select round(avg(len(events)), 2) from mutualfriends where outcome.reward = 1",
        11.41, True,
    ),
    Count(
        "V2.4", "seconds of a completed dialogue",
        "select round(avg(events[-1].time::double - events[1].time::double), 2) from mutualfriends where "
        "outcome.reward = 1",
        91.18, True,
    ),
    Count(
        "V2.4", "attributes, items, and other values of alpha than three",
        "select min(len(scenario.alphas)), max(len(scenario.alphas)), min(len(scenario.kbs[1])), "
        "max(len(scenario.kbs[1])), count(*) filter (where not list_has_all([0.3, 1, 3], scenario.alphas)) "
        "from mutualfriends",
        (3, 4, 5, 12, 0), True,
    ),
]  # fmt: skip

TASKMASTER1 = [
    Count(
        "T01", "dialogs",
        "select count(*), count(distinct conversation_id) from taskmaster",
        (13_215, 13_215),
    ),
    Count(
        "T02", "spoken and written dialogs",
        "select part, count(*) from taskmaster group by part",
        {"woz": 5_507, "self": 7_708},
    ),
    Count(
        "T04", "domains of the ontology, in its order",
        "select domain from taskmaster_ontology",
        [("uber",), ("movie",), ("restaurant",), ("coffee",), ("pizza",), ("auto",)], True,
    ),
    Count(
        "T04", "domains of the dialogs",
        "select count(distinct regexp_extract(instruction_id, '^[a-z]+')) from taskmaster",
        6, True,
    ),
    Count(
        "T05", "lines by split",
        "select split, count(*) from taskmaster_member group by split",
        {"train": 6_168, "dev": 770, "test": 770},
    ),
    Count(
        "T05", "written dialogs in not exactly one split",
        "select count(*) from (from taskmaster where part = 'self') full join taskmaster_member on "
        "conversation_id = id where id is null or conversation_id is null",
        0, True,
    ),
    Count(
        "T05", "splits are ranges: dev, then test, then train",
        "select max(id) filter (where split = 'dev') < min(id) filter (where split = 'test'), max(id) filter "
        "(where split = 'test') < min(id) filter (where split = 'train') from taskmaster_member",
        (True, True), True,
    ),
    Count(
        "T06", "spoken dialogs in a split",
        "select count(*) from taskmaster join taskmaster_member on conversation_id = id where part = 'woz'",
        0, True,
    ),
    Count(
        "T07", "ids of another form",
        "select count(*) from taskmaster where not regexp_full_match(conversation_id, "
        "'dlg-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}')",
        0, True,
    ),
    Count(
        "T08", "dialogs whose index is not the position",
        "select count(*) from taskmaster where list_transform(utterances, lambda u: u.index) <> "
        "range(len(utterances))",
        0, True,
    ),
    Count(
        "T10", "segments that are not the annotated text",
        "select count(*) from taskmaster_segment where substr(utterance, segment.start_index + 1, "
        "segment.end_index - segment.start_index) <> segment.text",
        0, True,
    ),
    Count(
        "T13", "names that are neither a label nor the transaction",
        "select count(*) from (select distinct regexp_replace(note.name, '\\.(accept|reject)$', '') as name "
        "from (select unnest(segment.annotations) as note from taskmaster_segment)) where name not in (select "
        "id || '.' || unnest(required || optional) from taskmaster_ontology union all select id from "
        "taskmaster_ontology) and name not in ('uber_lyft.ride_booking', 'movie_ticket.ticket_booking', "
        "'restaurant_reservation.reservation', 'coffee_ordering.coffee_order', 'pizza_ordering.pizza_order', "
        "'auto_repair.appointment')",
        0, True,
    ),
    Count(
        "T17", "dialogs without an annotation",
        "select part, count(*) from taskmaster where len(annotated) = 0 group by part",
        {"self": 17, "woz": 129},
    ),
    Count(
        "T18", "annotated dialogs without a required label",
        "select count(distinct conversation_id) from taskmaster where len(annotated) > 0 and conversation_id "
        "not in (select conversation_id from (select conversation_id, unnest(segment.annotations) as note "
        "from taskmaster_segment) where regexp_replace(note.name, '\\.(accept|reject)$', '') in (select id || "
        "'.' || unnest(required) from taskmaster_ontology))",
        0, True,
    ),
    Count(
        "T20", "written dialogs that do not alternate from the user on",
        "select count(*) from taskmaster where part = 'self' and list_transform(utterances, lambda u: "
        "u.speaker) <> list_transform(range(len(utterances)), lambda i: if(i % 2 = 0, 'USER', 'ASSISTANT'))",
        0, True,
    ),
    Count(
        "T09", "utterances of another speaker",
        "select count(*) from (select unnest(utterances) as u from taskmaster) where u.speaker not in "
        "('USER', 'ASSISTANT')",
        1, True,
    ),
    Count(
        "V2.5", "utterances of written dialogs, in all and with segments",
        "select sum(len(utterances)), sum(len(annotated)), count(*) filter (where len(annotated) > 0) from "
        "taskmaster where part = 'self'",
        (169_469, 68_228, 7_691),
    ),
    Count(
        "V2.5", "utterances of a written dialog",
        "select round(avg(len(utterances)), 3) from taskmaster where part = 'self'",
        21.986,
    ),
    Count(
        "V2.5", "dialogs with two speakers, and their turns where a speaker goes on",
        "select count(*), sum(1 + len(list_filter(kept, lambda u, i: i > 1 and (u.speaker = 'ASSISTANT') <> "
        "(kept[i - 1].speaker = 'ASSISTANT')))) from taskmaster where "
        "len(list_distinct(list_transform(utterances, lambda u: u.speaker))) > 1",
        (13_175, 278_885),
    ),
    Count(
        "V2.5", "dialogs without an utterance",
        "select count(*) from taskmaster where len(utterances) = 0",
        13,
    ),
    Count(
        "V2.5", "required and optional labels of a domain",
        "select domain, len(required), len(optional) from taskmaster_ontology",
        {"uber": (4, 4), "movie": (6, 3), "restaurant": (4, 2), "coffee": (3, 3), "pizza": (3, 4), "auto": (4, 4)}, True,
    ),
]  # fmt: skip

ABCD = [
    Count(
        "A01", "conversations by split",
        "select split, count(*) from abcd group by split",
        {"train": 8_034, "dev": 1_004, "test": 1_004},
    ),
    Count(
        "A03", "conversations and their ids",
        "select count(*), count(distinct id) from abcd",
        (10_042, 10_042),
    ),
    Count(
        "A05", "flows and subflows: ontology, kb, guidelines",
        "select count(distinct flow), count(distinct subflow), (select count(*) from abcd_needed), (select "
        "count(distinct subflow) from abcd_step), (select count(distinct intent) from abcd_turn) from "
        "abcd_subflow",
        (10, 55, 55, 55, 55),
    ),
    Count(
        "A05", "subflows of each flow",
        "select count(*) from abcd_subflow group by flow order by min(rowid)",
        [(n,) for n in (3, 8, 8, 6, 8, 4, 4, 4, 6, 4)], True,
    ),
    Count(
        "A06", "actions: ontology, kb, pressed",
        "select count(*), (select count(distinct act) from (select unnest(acts) as act from abcd_needed)), "
        "(select count(distinct act) from abcd_turn) from abcd_action",
        (30, 30, 30),
    ),
    Count(
        "A06", "actions of each kind",
        "select kind, count(*) from abcd_action group by kind",
        {"kb_query": 6, "interaction": 10, "faq_policy": 14}, True,
    ),
    Count(
        "A07", "enumerable values: listed, different, twice",
        "select count(*), count(distinct value), (select value from abcd_value group by value having count(*) "
        "> 1) from abcd_value",
        (127, 126, "credit card"), True,
    ),
    Count(
        "A08", "next steps: of the ontology, in the data",
        "select json_array_length(document->'next_steps'), (select count(distinct next_step) from abcd_turn), "
        "(select count(*) from abcd_turn where next_step is null and speaker <> 'customer') from "
        "abcd_ontology",
        (3, 2, 0), True,
    ),
    Count(
        "A09", "candidates of turns that retrieve, and of others",
        "select coalesce(next_step, 'none'), min(candidates), max(candidates) from abcd_turn group by all",
        {"retrieve_utterance": (100, 100), "take_action": (0, 0), "none": (0, 0)}, True,
    ),
    Count(
        "A13", "turns whose rank does not fit",
        "select count(*) from abcd_turn where case next_step when 'retrieve_utterance' then rank not between "
        "0 and 99 else rank <> -1 end",
        0, True,
    ),
    Count(
        "A15", "turns whose intent is not the scenario's subflow, by whether the flow is an FAQ",
        "select flow in ('storewide_query', 'single_item_query'), min(intent = subflow), max(intent = "
        "subflow) from abcd_turn group by all",
        {True: (False, False), False: (True, True)}, True,
    ),
    Count(
        "A17", "conversations whose forms differ in their speakers",
        "select count(*) from abcd where speakers <> list_transform(turns, lambda turn: turn.speaker)",
        0, True,
    ),
    Count(
        "A20", "fewest and most actions of a subflow",
        "select min(len(acts)), max(len(acts)) from abcd_needed",
        (2, 5), True,
    ),
    Count(
        "A22", "guidelines: flows, subflows, steps, buttons",
        "select count(distinct flow), count(distinct subflow), count(*), count(distinct button) from "
        "abcd_step",
        (10, 55, 255, 33), True,
    ),
    Count(
        "A22", "steps of each type",
        "select type, count(*) from abcd_step group by type",
        {"interaction": 125, "kb query": 53, "faq/policy": 48, "communication": 29}, True,
    ),
    Count(
        "A22", "steps with an unusual button",
        "select button, count(*) from abcd_step where button in ('N/A', 'End Conversation', 'Enter Detail', "
        "'Enter Details') group by button",
        {"N/A": 23, "End Conversation": 3, "Enter Detail": 4, "Enter Details": 9}, True,
    ),
    Count(
        "A23", "slots of the actions",
        "select count(distinct slot) from (select unnest(entry.value) as slot from abcd_action)",
        25, True,
    ),
    Count(
        "V2.3", "turns of train, and a conversation's",
        "select count(*), round(count(*) / count(distinct id), 2) from abcd_turn where split = 'train'",
        (177_407, 22.08),
    ),
]  # fmt: skip


def _by_kind(value: str, table: str) -> str:
    """A number for each split, its single-service, its multi-service and all its dialogues."""
    return f"""
        select split, case single when true then 'single' when false then 'multi' else 'all' end, {value}
        from {table} group by grouping sets ((split, single), (split))"""


def _grid(*numbers: Any) -> dict[tuple[str, str], Any]:
    """Nine published numbers: single, multi and all of train, dev and test."""
    kinds = [(split, kind) for split in SPLITS for kind in ("single", "multi", "all")]
    return dict(zip(kinds, numbers, strict=True))


DOMAINS_BY_SPLIT = {
    "train": {
        "Banks": (207, 520), "Buses": (310, 1970), "Calendar": (169, 1433), "Events": (788, 2721),
        "Flights": (985, 1762), "Homes": (268, 579), "Hotels": (457, 2896), "Media": (281, 832),
        "Movies": (292, 1325), "Music": (394, 896), "RentalCars": (215, 1370), "Restaurants": (367, 2052),
        "RideSharing": (119, 1584), "Services": (551, 1338), "Travel": (0, 1871), "Weather": (0, 951),
    },
    "dev": {
        "Alarm": (37, 0), "Banks": (42, 252), "Buses": (44, 285), "Events": (73, 345), "Flights": (94, 297),
        "Homes": (81, 99), "Hotels": (56, 521), "Media": (46, 133), "Movies": (47, 94), "Music": (35, 161),
        "RentalCars": (39, 342), "Restaurants": (73, 263), "RideSharing": (45, 225), "Services": (44, 157),
        "Travel": (45, 238), "Weather": (35, 322),
    },
    "test": {
        "Alarm": (47, 240), "Buses": (88, 438), "Events": (76, 516), "Flights": (87, 419), "Homes": (89, 157),
        "Hotels": (177, 885), "Media": (80, 284), "Messaging": (0, 298), "Movies": (132, 449), "Music": (25, 322),
        "Payment": (36, 186), "RentalCars": (64, 480), "Restaurants": (73, 390), "RideSharing": (34, 216),
        "Services": (167, 489), "Trains": (84, 266), "Travel": (24, 630), "Weather": (48, 427),
    },
}  # fmt: skip
"""Split -> domain -> dialogues with one service and with several; a dialogue counts once for a domain."""
DOMAIN = "regexp_replace(service, '_[0-9]+$', '')"
SLOTS = """(select split, single, service, slot from sgd_state
    union select split, single, service, span.slot from sgd_span
    union select split, single, frame.service, unnest(frame.state.requested_slots) from sgd_frame)"""
SERVICES = """(select split, service_name as service, slots, intents, intent.* from (
    select *, unnest(intents) as intent from sgd_schema))"""
ACTS = {
    "USER": ("AFFIRM", "AFFIRM_INTENT", "GOODBYE", "INFORM", "INFORM_INTENT", "NEGATE", "NEGATE_INTENT", "REQUEST",
             "REQUEST_ALTS", "SELECT", "THANK_YOU"),
    "SYSTEM": ("CONFIRM", "GOODBYE", "INFORM", "INFORM_COUNT", "NOTIFY_FAILURE", "NOTIFY_SUCCESS", "OFFER",
               "OFFER_INTENT", "REQUEST", "REQ_MORE"),
}  # fmt: skip

SGD = [
    Count(
        "S01", "dialogues by split",
        "select split, count(*) from sgd_dialogue group by split",
        {"train": 16_142, "dev": 2_482, "test": 4_201},
    ),
    Count(
        "S02", "turns by split",
        "select split, count(*) from sgd_turn group by split",
        {"train": 329_964, "dev": 48_726, "test": 84_594},
    ),
    Count(
        "S02", "the card's turns are three times the dialogues",
        "select split, 3 * count(*) from sgd_dialogue group by split",
        {"train": 48_426, "dev": 7_446, "test": 12_603},
    ),
    Count(
        "S03", "dialogues",
        "select count(*), count(*) filter (where split <> 'test') from sgd_dialogue",
        (22_825, 18_624),
    ),
    Count(
        "S04", "domains: in all, in train and dev",
        f"select count(distinct {DOMAIN}), count(distinct {DOMAIN}) filter (where split <> 'test') from "
        "(select split, unnest(services) as service from sgd_dialogue)",
        (20, 17), True,
    ),
    Count(
        "S05", "services by split: of the schema, used",
        "select split, count(*), (select count(distinct service) from (select split, unnest(services) as "
        "service from sgd_dialogue) as used where used.split = sgd_schema.split) from sgd_schema group by "
        "split",
        {"train": (26, 26), "dev": (17, 17), "test": (21, 21)}, True,
    ),
    Count(
        "S06", "ids: different, in several splits, in all, in train and test, train and dev, dev and test",
        "select count(*), count(*) filter (where len(parts) > 1), count(*) filter (where len(parts) = 3), "
        "count(*) filter (where parts = ['test', 'train']), count(*) filter (where parts = ['dev', 'train']), "
        "count(*) filter (where parts = ['dev', 'test']) from (select list(split order by split) as parts "
        "from sgd_dialogue group by dialogue_id)",
        (16_152, 4_269, 2_404, 1_787, 77, 1),
    ),
    Count(
        "S06", "ids that repeat in a split",
        "select count(*) - count(distinct (split, dialogue_id)) from sgd_dialogue",
        0, True,
    ),
    Count(
        "S07", "dialogues whose services are not those of their frames",
        "select count(*) from sgd_dialogue join (select dialogue, list(distinct frame.service) as used from "
        "sgd_frame group by dialogue) using (dialogue) where list_sort(services) <> list_sort(used)",
        0, True,
    ),
    Count(
        "S08", "turns of the wrong speaker, shortest and longest dialogue, odd ones",
        "select (select count(*) from sgd_turn where speaker <> if(turn_index % 2 = 1, 'USER', 'SYSTEM')), "
        "min(len(turns)), max(len(turns)), count(*) filter (where len(turns) % 2 = 1) from sgd_dialogue",
        (0, 4, 50, 0),
    ),
    Count(
        "S09", "turns by speaker and frames, of dialogues with several services",
        "select speaker, min(n), max(n), max(n) filter (where single) from (select speaker, single, "
        "len(frames) as n from sgd_turn) group by speaker",
        {"USER": (1, 2, 1), "SYSTEM": (1, 1, 1)}, True,
    ),
    Count(
        "S10", "spans of categorical or unknown slots",
        "select count(*) from sgd_span where (split, service, span.slot) not in (select (split, service_name, "
        "slot.name) from (select split, service_name, unnest(slots) as slot from sgd_schema) where not "
        "slot.is_categorical)",
        0, True,
    ),
    Count(
        "S11", "spans that are no value of an action of their frame",
        "select count(*) from (select frame.actions as actions, utterance, unnest(frame.slots) as span from "
        "sgd_frame) where not list_contains(flatten(list_transform(list_filter(actions, lambda act: act.slot "
        "= span.slot), lambda act: act.values)), substr(utterance, span.start + 1, span.exclusive_end - "
        "span.start))",
        0, True,
    ),
    Count(
        "S11", "spans out of bounds",
        "select count(*) from sgd_span where not (0 <= span.start and span.start < span.exclusive_end and "
        "span.exclusive_end <= length(utterance))",
        0, True,
    ),
    Count(
        "S11", "utterances beyond ASCII",
        "select count(*) from sgd_turn where strlen(utterance) > length(utterance)",
        0, True,
    ),
    Count(
        "S13", "acts by speaker",
        "select distinct speaker, action.act from sgd_act order by all",
        sorted((speaker, act) for speaker, acts in ACTS.items() for act in acts), True,
    ),
    Count(
        "S13", "acts in all",
        "select count(distinct action.act) from sgd_act",
        18, True,
    ),
    Count(
        "S14", "actions with values without a slot, or with other canonical values in number",
        "select count(*) from sgd_act where (len(action.values) > 0 and action.slot = '') or "
        "len(action.values) <> len(action.canonical_values)",
        0, True,
    ),
    Count(
        "S16", "frames with a call or results but not both, or by the user",
        "select count(*) from sgd_frame where (frame.service_call is null) <> (frame.service_results is null) "
        "or (speaker = 'USER' and frame.service_call is not null)",
        0, True,
    ),
    Count(
        "S18", "calls without a slot that their intent requires",
        f"select count(*) from sgd_frame join {SERVICES} as intent on sgd_frame.split = intent.split and "
        "frame.service = intent.service and frame.service_call.method = intent.name where not "
        "list_has_all(map_keys(frame.service_call.parameters), required_slots)",
        18,
    ),
    Count(
        "S19", "calls of no intent of their service",
        "select count(*) from sgd_frame where frame.service_call is not null and (split, frame.service, "
        f"frame.service_call.method) not in (select (split, service, name) from {SERVICES})",
        0, True,
    ),
    Count(
        "S20", "frames with a state by the system, or without by the user",
        "select count(*) from sgd_frame where (frame.state is null) = (speaker = 'USER')",
        0, True,
    ),
    Count(
        "S23", "categorical slots with several values",
        "select count(*) from (select split, frame.service as service, "
        "unnest(map_entries(frame.state.slot_values)) as entry from sgd_frame where speaker = 'USER') where "
        "len(entry.value) <> 1 and (split, service, entry.key) in (select (split, service_name, slot.name) "
        "from (select split, service_name, unnest(slots) as slot from sgd_schema) where slot.is_categorical)",
        0, True,
    ),
    Count(
        "S26", "INFORM_COUNT acts that do not count the results",
        "select count(*) from (select frame, unnest(frame.actions) as action from sgd_frame) where action.act "
        "= 'INFORM_COUNT' and action.canonical_values <> [len(frame.service_results)::varchar]",
        0, True,
    ),
    Count(
        "S28", "slots with examples that are not categorical",
        "select count(distinct service_name || slot.name) from (select service_name, unnest(slots) as slot "
        "from sgd_schema) where not slot.is_categorical and len(slot.possible_values) > 0",
        1, True,
    ),
    Count(
        "S29", "services shared by two splits, and those of them that differ",
        "select a.split, b.split, count(*), count(*) filter (where (a.slots, a.intents) is distinct from "
        "(b.slots, b.intents)) from sgd_schema as a join sgd_schema as b using (service_name) where a.split < "
        "b.split group by all",
        {("dev", "train"): (9, 0), ("test", "train"): (6, 0), ("dev", "test"): (6, 0)}, True,
    ),
    Count(
        "S29", "services that no split before has, dev and test; not in train, test",
        "select count(*) filter (where splits = ['dev'] or splits = ['dev', 'test']), count(*) filter (where "
        "splits = ['test']), count(*) filter (where splits = ['test'] or splits = ['dev', 'test']) from "
        "(select list(split order by split) as splits from sgd_schema group by service_name)",
        (8, 11, 15), True,
    ),
    Count(
        "S31", "slots, intents, categorical slots of each schema",
        "select split, sum(len(slots)), sum(len(intents)), sum(len(list_filter(slots, lambda slot: "
        "slot.is_categorical))) from sgd_schema group by split",
        {"train": (215, 53, 53), "dev": (136, 30, 36), "test": (160, 38, 42)}, True,
    ),
    Count(
        "V2.2", "services, domains, slots, intents, names of intents, categorical slots of the schemas",
        f"select count(*), count(distinct {DOMAIN}), sum(len(slots)), sum(len(intents)), (select "
        f"count(distinct name) from {SERVICES}), sum(len(list_filter(slots, lambda slot: "
        "slot.is_categorical))) from (select service_name as service, any_value(slots) as slots, "
        "any_value(intents) as intents from sgd_schema group by all)",
        (45, 20, 365, 88, 46, 94), True,
    ),
    Count(
        "S6a", "files with one service, with several",
        "select split, count(distinct file) filter (where single), max(file) filter (where single), "
        "count(distinct file) filter (where not single), count(*) filter (where single <> (len(services) = "
        "1)) from sgd_dialogue group by split",
        {"train": (43, 43, 84, 0), "dev": (7, 7, 13, 0), "test": (11, 11, 23, 0)},
    ),
    Count(
        "S6c", "frames by split",
        "select split, count(*) from sgd_frame group by split",
        {"train": 340_762, "dev": 50_440, "test": 88_413},
    ),
    Count(
        "S6c", "dialogues by number of services",
        "select split, len(services), count(*) from sgd_dialogue group by all",
        {("train", 1): 5_403, ("train", 2): 8_266, ("train", 3): 2_185, ("train", 4): 288, ("dev", 1): 836, ("dev", 2): 1_250, ("dev", 3): 350, ("dev", 4): 46, ("test", 1): 1_331, ("test", 2): 1_653, ("test", 3): 1_011, ("test", 4): 206},
    ),
    Count(
        "S6e", "utterances that are empty, with blanks at an edge, with a line break",
        "select count(*) filter (where utterance = ''), count(*) filter (where utterance <> trim(utterance)), "
        "count(*) filter (where contains(utterance, chr(10))) from sgd_turn",
        (2, 94, 6),
    ),
    Count(
        "S6e", "frames with overlapping spans",
        "select count(distinct (a.dialogue, a.turn_index)) from sgd_span as a join sgd_span as b using "
        "(dialogue, turn_index) where a.span <> b.span and a.span.start <= b.span.start and b.span.start < "
        "a.span.exclusive_end",
        2, True,
    ),
    Count(
        "V1", "actions with a categorical value that the schema lacks",
        "select count(*) from (select split, service, action.slot as slot, unnest(action.canonical_values) as "
        "value from sgd_act where action.act not like '%INTENT') as said join (select split, service_name as "
        "service, unnest(slots) as slot from sgd_schema) as described on said.split = described.split and "
        "said.service = described.service and said.slot = described.slot.name where "
        "described.slot.is_categorical and not list_contains(described.slot.possible_values, value) and value "
        "<> 'dontcare'",
        1, True,
    ),
    Count(
        "V2.2", "dialogues",
        _by_kind("count(*)", "sgd_dialogue"),
        _grid(5_403, 10_739, 16_142, 836, 1_646, 2_482, 1_331, 2_870, 4_201),
    ),
    Count(
        "V2.2", "turns",
        _by_kind("count(*)", "sgd_turn"),
        _grid(82_588, 247_376, 329_964, 11_928, 36_798, 48_726, 16_850, 67_744, 84_594),
    ),
    Count(
        "V2.2", "turns of a dialogue",
        _by_kind("round(avg(len(turns)), 3)", "sgd_dialogue"),
        _grid(15.286, 23.035, 20.441, 14.268, 22.356, 19.632, 12.660, 23.604, 20.137),
    ),
    Count(
        "V2.6", "examples of ParlAI's two tasks by split",
        "select split, (sum(len(turns)) + 3 * count(*))::integer, (sum(len(turns)) // 2 + count(*))::integer "
        "from sgd_dialogue group by split",
        {"train": (378_390, 181_124), "dev": (56_172, 26_845), "test": (97_197, 46_498)},
    ),
    Count(
        "V2.2", "slots",
        _by_kind("count(distinct (service, slot))", SLOTS),
        _grid(201, 214, 214, 134, 132, 136, 157, 158, 159),
    ),
    Count(
        "V2.2", "informable slots",
        _by_kind("count(distinct (service, slot))", "sgd_state"),
        _grid(138, 144, 144, 89, 87, 89, 109, 110, 111),
    ),
    Count(
        "V2.2", "domains",
        _by_kind(f"count(distinct {DOMAIN})", "(select split, single, unnest(services) as service from sgd_dialogue)"),
        _grid(14, 16, 16, 16, 15, 16, 17, 18, 18),
    ),
    Count(
        "V2.2", "services",
        _by_kind("count(distinct service)", "(select split, single, unnest(services) as service from sgd_dialogue)"),
        _grid(24, 26, 26, 17, 16, 17, 20, 21, 21),
    ),
    Count(
        "V2.2", "intents",
        _by_kind("count(distinct frame.state.active_intent)", "sgd_frame"),
        _grid(35, 37, 37, 28, 26, 28, 33, 34, 35),
    ),
    Count(
        "V2.2", "dialogues by split and domain, single and multi",
        f"select split, {DOMAIN} as domain, count(distinct dialogue) filter (where single), count(distinct "
        "dialogue) filter (where not single) from (select split, single, dialogue, unnest(services) as "
        "service from sgd_dialogue) group by all",
        {(split, domain): numbers for split, domains in DOMAINS_BY_SPLIT.items() for domain, numbers in domains.items()},
    ),
]  # fmt: skip

COUNTS = {"bbai": BBAI, "mutualfriends": MUTUALFRIENDS, "taskmaster1": TASKMASTER1, "abcd": ABCD, "sgd": SGD}
"""Corpus -> its numbers."""

RATES = {
    ("USER", "INFORM"): 88_520, ("USER", "INFORM_INTENT"): 37_590, ("USER", "REQUEST"): 29_894,
    ("USER", "SELECT"): 24_146, ("USER", "THANK_YOU"): 21_902, ("USER", "AFFIRM"): 18_990, ("USER", "NEGATE"): 11_945,
    ("USER", "REQUEST_ALTS"): 10_154, ("USER", "GOODBYE"): 9_263, ("USER", "NEGATE_INTENT"): 4_559,
    ("USER", "AFFIRM_INTENT"): 3_969, ("SYSTEM", "OFFER"): 92_594, ("SYSTEM", "CONFIRM"): 74_148,
    ("SYSTEM", "REQUEST"): 42_938, ("SYSTEM", "INFORM"): 29_245, ("SYSTEM", "GOODBYE"): 17_193,
    ("SYSTEM", "NOTIFY_SUCCESS"): 16_041, ("SYSTEM", "INFORM_COUNT"): 12_911, ("SYSTEM", "REQ_MORE"): 11_308,
    ("SYSTEM", "OFFER_INTENT"): 8_528, ("SYSTEM", "NOTIFY_FAILURE"): 2_235,
}  # fmt: skip
"""Acts in the 312,250 turns of SGD that were at hand; what the whole release has is not known."""
RATED_TURNS = 312_250


def read_release(root: Path) -> duckdb.DuckDBPyConnection:
    """The generated files of all corpora as tables."""
    con = duckdb.connect()
    for table, query in TABLES.items():
        con.execute(f"create table {table} as {query.format(root=root)}")
    return con
