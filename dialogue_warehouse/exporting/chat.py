"""Chat messages with tools, as JSON Lines: one example per line, written by DuckDB in batches of dialogues.

`messages.sql` of a corpus, or the usual one beside this module, says how its dialogues become messages. Its part
`messages` returns what is said and called, its part `tools`, which not every corpus has, the tools of each dialogue:

- messages: dialogue_key, variant (NULL if a dialogue is one example), turn_index and place (the order; a NULL
  turn_index comes first, a NULL place last), turn_key, role, content, call_name, arguments (a JSON object). The roles
  are `system`, `instructions` (a system prompt on request), `user`, `assistant`, and `call`: a call of a tool whose
  result is `content`. A NULL content is not a message.
- tools: dialogue_key, position, name, description, parameters (JSON Schema).

`batch` has the keys of the requested dialogues.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import literal, one_line
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.corpora.sections import file_of, read_sections
from dialogue_warehouse.reading.selection import Dialogue

MESSAGES_SQL = "messages.sql"
USUAL = Path(__file__).with_name(MESSAGES_SQL)
"""The messages of a corpus that has no such file: what user and system say."""
SUFFIX = ".jsonl"
PROFILES = ("faithful", "alternating")
ARGUMENTS = ("object", "string")
TARGETS = ("weight", "train")
LONGEST_NAME = 64
"""Characters of the name of a tool."""
BATCH_TURNS = 40_000
"""Turns of the dialogues that are written at once, which bounds the memory."""


@dataclass(frozen=True)
class ChatOptions:
    """The variants of the form."""

    profile: str = PROFILES[0]
    """`faithful`: each turn is a message. `alternating`: user and assistant take turns, the user first."""
    arguments: str = ARGUMENTS[0]
    """Arguments of a call as a JSON `object`, or as a `string` with JSON."""
    targets: str | None = None
    """The key that marks the messages to train on: `weight` (0 or 1) or `train` (true or false)."""
    instructions: bool = False
    """Adds the instructions that a person of the dialogue had, as the system prompt."""
    max_characters: int | None = None
    """Characters of an example (its messages and tools as JSON) above which it is left out."""


def write(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    path: Path,
    options: ChatOptions,
    update: Callable[[str], None],
) -> dict[str, int]:
    """Write the examples of a corpus' dialogues to a file, in their order, and return counts.

    `con` has core as its default schema, and the table `exported` of the loss ledger, to which the parts of examples
    are added. Raises CorpusError if the SQL of the corpus is wrong.
    """
    queries = read_sections(file_of(corpus, MESSAGES_SQL, USUAL), "part")
    if "messages" not in queries:
        raise CorpusError(f"{corpus.corpus_id}/{MESSAGES_SQL}: no query for messages")
    counts: dict[str, int] = {"dialogues": len(dialogues)}
    part, done = path.with_suffix(".part"), 0
    with path.open("wb") as whole:
        for batch in _batches(dialogues):
            con.execute(
                "create or replace temp table batch as select unnest(?::varchar[]) as dialogue_key",
                [[dialogue.key for dialogue in batch]],
            )
            try:
                said = _said(queries["messages"], options)
                con.execute(
                    "create or replace temp table placed as"
                    f" with said as ({said}) select * from ({_PLACED[options.profile]})"
                )
                if "tools" in queries:
                    con.execute(f"create or replace temp table tools as {_tools(queries['tools'])}")
            except (duckdb.ProgrammingError, duckdb.DataError) as error:
                raise CorpusError(f"{corpus.corpus_id}/{MESSAGES_SQL}: {one_line(error)}") from error
            found = _write_batch(con, "tools" in queries, part, options)
            for name, number in found.items():
                counts[name] = counts.get(name, 0) + number
            with part.open("rb") as written:
                shutil.copyfileobj(written, whole)
            part.unlink()
            done += len(batch)
            update(f"{done:,} of {len(dialogues):,} dialogues")
    return counts


def _batches(dialogues: Sequence[Dialogue]) -> Iterator[Sequence[Dialogue]]:
    """Yield the dialogues in groups of about as many turns."""
    start, turns = 0, 0
    for number, dialogue in enumerate(dialogues):
        if turns and turns + dialogue.turn_count > BATCH_TURNS:
            yield dialogues[start:number]
            start, turns = number, 0
        turns += max(dialogue.turn_count, 1)
    yield dialogues[start:]


def _write_batch(con: duckdb.DuckDBPyConnection, has_tools: bool, part: Path, options: ChatOptions) -> dict[str, int]:
    """Write the examples of what is `placed` in messages, and return counts."""
    con.execute(f"create or replace temp table examples as {_examples(has_tools, options)}")
    fits = "true" if options.max_characters is None else f"characters <= {options.max_characters}"
    values = ["'{\"id\":', to_json(id), ',\"messages\":', messages", "',\"source\":', source, '}'"]
    if has_tools:
        values.insert(1, "',\"tools\":', tools")
    # The values are JSON already. DuckDB's format for JSON would read and write them once more.
    con.execute(
        f"copy (select concat({', '.join(values)}) from examples where has_answer and {fits}"
        f" order by dialogue_key, variant) to {literal(part)} (format csv, header false, quote '', delimiter e'\\n')"
    )
    con.execute(_PARTS.format(fits=fits, is_cut=options.profile == "alternating"))
    row = con.execute(_COUNTS.format(fits=fits)).fetchone()
    names = [name for name, *_ in con.description or ()]
    return dict(zip(names, row or (), strict=True))


def _name_of_tool(column: str) -> str:
    """Return the SQL of a valid name; one that is changed gets a hash, so that different tools keep different names."""
    valid = f"regexp_replace(coalesce({column}, ''), '[^a-zA-Z0-9_-]', '_', 'g')"
    changed = f"concat(left({valid}, {LONGEST_NAME - 9}), '_', left(md5(coalesce({column}, '')), 8))"
    return f"if(regexp_full_match({column}, '[a-zA-Z0-9_-]{{1,{LONGEST_NAME}}}'), {column}, {changed})"


def _said(query: str, options: ChatOptions) -> str:
    """Return the query of what is said and called, numbered in each example. A call has an id that is unique there."""
    roles = "'system', 'user', 'assistant', 'call'" + (", 'instructions'" if options.instructions else "")
    return f"""
    select
        dialogue_key, variant, turn_key, content,
        if(role = 'call', coalesce(arguments, '{{}}'), null) as arguments,
        if(role = 'instructions', 'system', role) as role,
        if(role = 'call', {_name_of_tool("call_name")}, null) as call_name,
        row_number() over so_far as position,
        printf('call%05d', count(*) filter (where role = 'call') over so_far) as call_id
    from ({query})
    where role in ({roles}) and content is not null
    window so_far as (
        partition by dialogue_key, variant
        order by
            role not in ('system', 'instructions'), turn_index nulls first, role = 'instructions',
            place nulls last, role, content, call_name, cast(arguments as varchar), turn_key
        rows between unbounded preceding and current row
    )
    """


_PLACED = {
    "faithful": """
    select
        *, if(role = 'system', 0, position) as message, 'kept' as what_happens,
        role <> 'system' as is_alone, false as is_merged
    from said
    """,
    "alternating": """
    with
    around as (
        select
            *,
            if(role = 'call', 'assistant', role) as side,
            min(position) filter (where role = 'user') over example as first_user,
            min(position) filter (where role = 'user') over later as next_user,
            min(position) filter (where role = 'assistant') over later as next_answer
        from said
        window
            example as (partition by dialogue_key, variant),
            later as (
                partition by dialogue_key, variant order by position
                rows between 1 following and unbounded following
            )
    ),

    judged as (
        select
            *,
            case
                when role in ('system', 'user') then 'kept'
                when first_user is null or position < first_user then 'before_user'
                when role = 'call' and next_user < coalesce(next_answer, next_user + 1) then 'call_without_answer'
                else 'kept'
            end as what_happens
        from around
    ),

    started as (
        select
            *,
            lag(side) over in_order is distinct from side or lag(role) over in_order = 'call' as begins
        from judged
        where what_happens = 'kept'
        window in_order as (partition by dialogue_key, variant order by position)
    ),

    grouped as (
        select
            *,
            count(*) filter (where begins) over (partition by dialogue_key, variant order by position) as message
        from started
    ),

    ended as (
        select
            *,
            max(message) filter (where side = 'assistant') over (partition by dialogue_key, variant) as last_message,
            count(*) over of_message = 1 as is_alone,
            role in ('user', 'assistant') and count(*) filter (where role <> 'call') over of_message > 1 as is_merged
        from grouped
        window of_message as (partition by dialogue_key, variant, message)
    )

    select
        dialogue_key, variant, turn_key, content, arguments, role, call_name, position, call_id, message,
        if(role = 'system' or message <= last_message, 'kept', 'after_answer') as what_happens,
        is_alone, is_merged
    from ended
    union all
    select
        dialogue_key, variant, turn_key, content, arguments, role, call_name, position, call_id,
        null as message, what_happens, true as is_alone, false as is_merged
    from judged
    where what_happens <> 'kept'
    """,
}
"""The queries that give each row of `said` its message; rows of the same message are joined.

A row `is_alone` if its message has no other row, and `is_merged` if its message has other texts.
"""


def _tools(query: str) -> str:
    """Return the query of the tools of each dialogue, as JSON; of tools with one name only the first."""
    return _TOOLS.format(query=query, name=_name_of_tool("name"))


def _examples(has_tools: bool, options: ChatOptions) -> str:
    """Return the query of the examples: a row for each variant of a dialogue, with its messages as JSON."""
    marks = {"weight": ", 'weight', if(has_defect, 0, 1)", "train": ", 'train', not has_defect"}
    # An alternating example ends with the assistant.
    is_cut = options.profile == "alternating"
    return _EXAMPLES.format(
        arguments="arguments" if options.arguments == "object" else "cast(arguments as varchar)",
        mark=marks[options.targets] if options.targets else "",
        no_mark=", 'train', false" if options.targets == "train" else "",
        has_defect=f"coalesce(turn_key in ({_DEFECTS}), false)" if options.targets else "false",
        has_result="call_name is not null" + (" and message < last_message" if is_cut else ""),
        tools="coalesce(tools.tools, '[]') as tools," if has_tools else "",
        tools_length="coalesce(length(tools.tools), 0)" if has_tools else "0",
        join_tools="left join tools on examples.dialogue_key = tools.dialogue_key" if has_tools else "",
    )


_DEFECTS = """
    select risks.turn_key
    from quality.annotation_risk as risks
    semi join batch on risks.dialogue_key = batch.dialogue_key
    where risks.defects_here > 0
"""
"""The turns of the batch that have a defect."""

_EXAMPLES = """
    with
    alone as (
        select
            dialogue_key, variant, message,
            if(role = 'call', 'assistant', role) as role,
            if(role = 'call', '', content) as content,
            call_id, call_name, arguments,
            content as result,
            if(turn_key is null, '[]', to_json([turn_key])) as turn_keys,
            {has_defect} as has_defect
        from placed
        where what_happens = 'kept' and is_alone
    ),

    joined as (
        select
            dialogue_key, variant, message,
            if(bool_or(role = 'call'), 'assistant', any_value(role)) as role,
            coalesce(
                string_agg(content, e'\\n\\n' order by position) filter (where role = 'system' and content <> ''),
                string_agg(content, e'\\n' order by position)
                    filter (where role in ('user', 'assistant') and content <> ''),
                ''
            ) as content,
            any_value(call_id) filter (where role = 'call') as call_id,
            any_value(call_name) as call_name,
            any_value(arguments) as arguments,
            any_value(content) filter (where role = 'call') as result,
            coalesce(to_json(list(turn_key order by position) filter (where turn_key is not null)), '[]') as turn_keys,
            bool_or({has_defect}) as has_defect
        from placed
        where what_happens = 'kept' and not is_alone
        group by dialogue_key, variant, message
    ),

    texts as (
        select * from alone
        union all by name
        select * from joined
    ),

    written as (
        select
            *,
            case
                when call_name is not null then json_object(
                    'role', 'assistant', 'content', content, 'tool_calls', json_array(json_object(
                        'id', call_id, 'type', 'function',
                        'function', json_object('name', call_name, 'arguments', {arguments})
                    )){mark}
                )
                when role = 'assistant' then json_object('role', role, 'content', content{mark})
                else json_object('role', role, 'content', content{no_mark})
            end as said_json,
            case when call_name is not null then json_object(
                'role', 'tool', 'tool_call_id', call_id, 'name', call_name, 'content', result{no_mark}
            ) end as result_json,
            max(message) over (partition by dialogue_key, variant) as last_message
        from texts
    ),

    examples as (
        select
            dialogue_key, variant,
            string_agg(concat(said_json, if({has_result}, concat(',', result_json), '')), ',' order by message)
                as messages,
            string_agg(concat(turn_keys, if({has_result}, concat(',', turn_keys), '')), ',' order by message)
                as turn_keys,
            count(*) + count(*) filter (where {has_result}) as message_count,
            bool_or(role = 'assistant') as has_answer
        from written
        group by dialogue_key, variant
    )

    select
        examples.dialogue_key, examples.variant, examples.has_answer,
        concat(examples.dialogue_key, '/variant/' || examples.variant) as id,
        concat('[', examples.messages, ']') as messages,
        {tools}
        json_object(
            'corpus_id', dialogues.corpus_id, 'split', dialogues.split, 'dialogue_key', examples.dialogue_key,
            'turn_keys', cast(concat('[', examples.turn_keys, ']') as json)
        ) as source,
        examples.message_count,
        length(concat('[', examples.messages, ']')) + {tools_length} as characters
    from examples
    inner join dim_dialogues as dialogues on examples.dialogue_key = dialogues.dialogue_key
    {join_tools}
    """

_TOOLS = """
    with
    named as (
        select
            dialogue_key, position, {name} as name,
            coalesce(description, '') as description,
            coalesce(parameters, '{{"type": "object", "properties": {{}}}}') as parameters
        from ({query})
    ),

    different as (
        select *
        from named
        qualify row_number() over (
            partition by dialogue_key, name order by position, description, cast(parameters as varchar)
        ) = 1
    )

    select
        dialogue_key,
        concat('[', string_agg(json_object(
            'type', 'function',
            'function', json_object('name', name, 'description', description, 'parameters', parameters)
        ), ',' order by position, name), ']') as tools
    from different
    group by dialogue_key
"""

_PARTS = """
    insert into exported
    with
    written as (select dialogue_key, variant from examples where has_answer and {fits}),

    kept as (
        select
            *, max(message) over (partition by dialogue_key, variant) as last_message
        from placed
        where what_happens = 'kept'
    ),

    parts as (
        select
            dialogue_key, variant, turn_key, is_merged,
            case role when 'call' then 'call' when 'system' then 'system' else 'text' end as part
        from kept
        union all
        select dialogue_key, variant, turn_key, false as is_merged, 'result' as part
        from kept
        where role = 'call' and not ({is_cut} and message = last_message)
        union all
        select dialogue_key, variant, null as turn_key, false as is_merged, 'example' as part
        from written
    )

    select parts.dialogue_key, parts.variant, parts.turn_key, parts.part, parts.is_merged
    from parts
    semi join written
        on parts.dialogue_key = written.dialogue_key and parts.variant is not distinct from written.variant
"""
"""Adds the parts of the written examples to `exported`, for the loss ledger."""

_COUNTS = """
    with
    written as (select * from examples where has_answer and {fits})

    select
        (select count(distinct dialogue_key) from written) as exported_dialogues,
        (select count(*) from written) as examples,
        (select coalesce(sum(message_count), 0) from written) as messages,
        (select count(*) from examples where not has_answer) as examples_without_answer,
        (select count(*) from examples where has_answer and not {fits}) as examples_too_long,
        count(*) filter (where what_happens = 'before_user') as said_before_user,
        count(*) filter (where what_happens = 'call_without_answer') as calls_without_answer,
        count(*) filter (where what_happens = 'after_answer') as said_after_answer,
        count(*) filter (where what_happens = 'kept' and role <> 'system')
        - count(distinct (dialogue_key, variant, message)) filter (where what_happens = 'kept' and role <> 'system')
            as joined
    from placed
"""
