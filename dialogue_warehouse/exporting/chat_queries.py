"""The queries of the forms `chat` and `huggingface`: from what is said to messages, tools, examples and counts.

`dialogue_warehouse.exporting.chat` fills in what depends on the corpus and on the options.
"""

from __future__ import annotations

PLACED = {
    "faithful": """
    select
        *, if(role = 'system', 0, position) as message, 'kept' as what_happens,
        role <> 'system' as is_alone, false as is_merged, role = 'call' as has_result
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
        is_alone, is_merged, role = 'call' and message < last_message as has_result
    from ended
    union all
    select
        dialogue_key, variant, turn_key, content, arguments, role, call_name, position, call_id,
        null as message, what_happens, true as is_alone, false as is_merged, false as has_result
    from judged
    where what_happens <> 'kept'
    """,
}
"""The queries that give each row of `said` its message; rows of the same message are joined.

A row `is_alone` if its message has no other row, and `is_merged` if its message has other texts. A call `has_result` if
the next message is its result.
"""

TOOL_SETS = """
    create temp table tool_sets as
    select dialogue_key, min(dialogue_key) over (partition by tool_set) as same
    from ({query})
"""
"""Gives each dialogue another one, the same for all that have the same tools."""

TOOLS = """
    create temp table tools as
    with
    batch as (select distinct same as dialogue_key from tool_sets),

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
            partition by dialogue_key, name order by position, hash(description, parameters)
        ) = 1
    )

    select dialogue_key, tools, concat('[', array_to_string(tools, ','), ']') as tools_json
    from (
        select
            dialogue_key,
            list(
                json_object(
                    'type', 'function',
                    'function', {{'name': name, 'description': description, 'parameters': parameters}}
                )
                order by position, name
            ) as tools
        from different
        group by dialogue_key
    )
"""
"""The tools of the dialogues in `same`, as a list and as JSON; of tools with one name only the first."""

NO_TOOLS = """
    create temp table tool_sets (dialogue_key varchar, same varchar);
    create temp table tools (dialogue_key varchar, tools json[], tools_json varchar)
"""
"""The tables for a corpus that has no tools."""

DEFECTS = """
    select risks.turn_key
    from quality.annotation_risk as risks
    semi join batch on risks.dialogue_key = batch.dialogue_key
    where risks.defects_here > 0
"""
"""The turns of the batch that have a defect."""

EXAMPLES = """
    with
    alone as (
        select
            dialogue_key, variant, message,
            if(role = 'call', 'assistant', role) as role,
            if(role = 'call', '', content) as content,
            call_id, call_name, arguments,
            content as result, has_result,
            if(turn_key is null, [], [turn_key]) as turn_keys,
            turn_keys as call_turn_keys,
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
            bool_or(has_result) as has_result,
            coalesce(list(turn_key order by position) filter (where turn_key is not null), []) as turn_keys,
            coalesce(list(turn_key) filter (where role = 'call' and turn_key is not null), []) as call_turn_keys,
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

    -- A result follows its call, and has only the call's turn: other turns of the message have no part in it.
    written as (
        select
            dialogue_key, variant, 2 * message as place, turn_keys, role,
            case
                when call_name is not null then json_object(
                    'role', 'assistant', 'content', content, 'tool_calls', [{{
                        'id': call_id, 'type': 'function',
                        'function': {{'name': call_name, 'arguments': {arguments}}}
                    }}]{mark}
                )
                when role = 'assistant' then json_object('role', role, 'content', content{mark})
                else json_object('role', role, 'content', content{no_mark})
            end as said
        from texts
        union all
        select
            dialogue_key, variant, 2 * message + 1 as place, call_turn_keys as turn_keys, 'tool' as role,
            json_object('role', 'tool', 'tool_call_id', call_id, 'name', call_name, 'content', result{no_mark}) as said
        from texts
        where has_result
    ),

    -- The lists of a group have the same order, and `places` says what it is.
    grouped as (
        select
            dialogue_key, variant,
            list_grade_up(list(place)) as places,
            list(said) as messages,
            list(turn_keys) as turn_keys,
            sum(length(said)) + count(*) + 1 as characters,
            bool_or(role = 'assistant') as has_answer
        from written
        group by dialogue_key, variant
    )

    select
        grouped.dialogue_key, grouped.variant, grouped.has_answer,
        concat(grouped.dialogue_key, '/variant/' || grouped.variant) as id,
        list_select(grouped.messages, grouped.places) as messages,
        {{
            'corpus_id': dialogues.corpus_id, 'split': dialogues.split, 'dialogue_key': grouped.dialogue_key,
            'turn_keys': list_select(grouped.turn_keys, grouped.places)
        }} as source,
        len(grouped.places) as message_count,
        tool_sets.same,
        grouped.characters + coalesce(length(tools.tools_json), 0) as characters
    from grouped
    inner join dim_dialogues as dialogues on grouped.dialogue_key = dialogues.dialogue_key
    left join tool_sets on grouped.dialogue_key = tool_sets.dialogue_key
    left join tools on tool_sets.same = tools.dialogue_key
    """
"""The examples: `messages` is a list of JSON objects, and `characters` the length of messages and tools as JSON."""

ROWS = """
    from (
        select
            examples.*,
            if({has_tools}, coalesce(tools.tools, []), null) as tools,
            if({has_tools}, coalesce(tools.tools_json, '[]'), null) as tools_json
        from examples
        left join tools on examples.same = tools.dialogue_key
        where examples.has_answer and {fits}
    )
    order by dialogue_key, variant
"""
"""The examples that are written, with their tools, which are NULL for a corpus without tools."""

PARTS = """
    insert into exported
    with
    written as (select dialogue_key, variant from examples where has_answer and {fits}),

    kept as (
        select placed.*
        from placed
        semi join written
            on placed.dialogue_key = written.dialogue_key and placed.variant is not distinct from written.variant
        where placed.what_happens = 'kept'
    )

    select
        dialogue_key, variant, turn_key,
        case role when 'call' then 'call' when 'system' then 'system' else 'text' end as part,
        is_merged
    from kept
    union all
    select dialogue_key, variant, turn_key, 'result' as part, false as is_merged
    from kept
    where has_result
    union all
    select dialogue_key, variant, null as turn_key, 'example' as part, false as is_merged
    from written
"""
"""Adds the parts of the written examples to `exported`, for the loss ledger."""

COUNTS = """
    with
    written as (select * from examples where has_answer and {fits})

    select
        (select count(distinct dialogue_key) from written) as exported_dialogues,
        (select count(*) from written) as examples,
        (select coalesce(sum(message_count), 0) from written) as messages,
        (select count(*) from batch anti join examples using (dialogue_key)) as dialogues_without_message,
        (select count(*) from examples where not has_answer) as examples_without_answer,
        (select count(*) from examples where has_answer and not {fits}) as examples_too_long,
        count(*) filter (where what_happens = 'before_user') as said_before_user,
        count(*) filter (where what_happens = 'call_without_answer') as calls_without_answer,
        count(*) filter (where what_happens = 'after_answer') as said_after_answer,
        count(*) filter (where what_happens = 'kept' and role <> 'system' and not is_alone)
        - count(distinct (dialogue_key, variant, message))
            filter (where what_happens = 'kept' and role <> 'system' and not is_alone)
            as joined
    from placed
"""
