"""The queries of the forms `chat` and `huggingface`: from what is said to messages, tools, examples and counts.

`dialogue_warehouse.exporting.chat` fills in what depends on the corpus and on the options.
"""

from __future__ import annotations

PLACED = {
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
"""The tools of the dialogues in `same`, as JSON; of tools with one name only the first."""

JOIN_TOOLS = """
    left join tool_sets on examples.dialogue_key = tool_sets.dialogue_key
    left join tools on tool_sets.same = tools.dialogue_key
"""

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
            array_to_string(
                list(concat(said_json, if({has_result}, concat(',', result_json), '')) order by message), ','
            ) as messages,
            array_to_string(
                list(concat(turn_keys, if({has_result}, concat(',', turn_keys), '')) order by message), ','
            ) as turn_keys,
            count(*) + count(*) filter (where {has_result}) as message_count,
            bool_or(role = 'assistant') as has_answer
        from written
        group by dialogue_key, variant
    )

    select
        examples.dialogue_key, examples.variant, examples.has_answer,
        concat(examples.dialogue_key, '/variant/' || examples.variant) as id,
        concat('[', examples.messages, ']') as messages,
        {tools} as tools,
        json_object(
            'corpus_id', dialogues.corpus_id, 'split', dialogues.split, 'dialogue_key', examples.dialogue_key,
            'turn_keys', cast(concat('[', examples.turn_keys, ']') as json)
        ) as source,
        examples.message_count,
        length(examples.messages) + 2 + {tools_length} as characters
    from examples
    inner join dim_dialogues as dialogues on examples.dialogue_key = dialogues.dialogue_key
    {join_tools}
    """

PARTS = """
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

COUNTS = """
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
