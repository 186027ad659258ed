{#- Publishes a macro of the database, which needs no file and works in any client of DuckDB from 1.5 on: `from
    core.transcript(key)` returns the dialogue of a key as readable text. A text is cut where a span begins or ends,
    and put together again with marks at the cuts. DuckDB inserts a caller's column in place of `key`, so the inner
    name must not be a column name of any table. On other engines nothing is published. -#}
{% macro create_transcript_macro() -%}
{%- set turns, slots = ref('fct_turns'), this -%}
{%- if target.type == 'duckdb' -%}
create or replace macro core.transcript(key) as table
    with

    wanted as (
        select
            concat_ws('/', split_part(key, '/', 1), split_part(key, '/', 2), split_part(key, '/', 3)) as wanted_dialogue
    ),

    said as (
        select
            turns.turn_key,
            turns.turn_index,
            turns.role,
            turns.source_speaker,
            turns.event_type,
            turns.utterance
        from wanted
        inner join {{ turns.include(database=false) }} as turns
            on wanted.wanted_dialogue = turns.dialogue_key
    ),

    annotations as (
        select
            slots.turn_key,
            slots.annotation_type,
            slots.slot_name,
            slots.value,
            slots.value_index,
            slots.start_char,
            slots.end_char,
            concat_ws(':', coalesce(slots.slot_name, slots.source_label, 'span'), slots.status) as label
        from wanted
        inner join {{ slots.include(database=false) }} as slots
            on wanted.wanted_dialogue = slots.dialogue_key
        where slots.annotation_type in ('span', 'selection')
    ),

    selected as (
        select
            turn_key,
            string_agg(slot_name || ': ' || value, ', ' order by value_index) as text
        from annotations
        where annotation_type = 'selection'
        group by turn_key
    ),

    labels as (
        select
            annotations.turn_key,
            annotations.label || case when count(*) > 1 then ' x' || count(*) else '' end as label,
            greatest(least(annotations.start_char, length(said.utterance)), 0) as first_char,
            greatest(least(annotations.end_char, length(said.utterance)), first_char) as past_char
        from annotations
        inner join said
            on annotations.turn_key = said.turn_key
        where
            annotations.annotation_type = 'span'
            and annotations.start_char is not null
            and annotations.end_char is not null
        group by annotations.turn_key, annotations.label, annotations.start_char, annotations.end_char, said.utterance
    ),

    spans as (
        select
            turn_key,
            first_char,
            past_char,
            '](' || string_agg(label, ', ' order by label) || ')' as closing
        from labels
        group by turn_key, first_char, past_char
    ),

    -- Ends come before beginnings. If two spans begin or end together, the shorter one is inside.
    marks as (
        select
            turn_key,
            past_char as place,
            first_char = past_char as is_later,
            -first_char as turn_of_mark,
            case when first_char = past_char then '[' else '' end || closing as mark
        from spans
        union all
        select
            turn_key,
            first_char as place,
            true as is_later,
            -past_char as turn_of_mark,
            '[' as mark
        from spans
        where first_char < past_char
    ),

    cuts as (
        select
            turn_key,
            place,
            string_agg(mark, '' order by is_later, turn_of_mark) as marks
        from (
            from marks
            union all
            select distinct
                turn_key,
                0 as place,
                false as is_later,
                0 as turn_of_mark,
                '' as mark
            from spans
        ) as all_marks
        group by turn_key, place
    ),

    pieces as (
        select
            said.turn_key,
            cuts.place,
            cuts.marks || substr(
                said.utterance,
                cuts.place + 1,
                coalesce(lead(cuts.place) over (partition by said.turn_key order by cuts.place), length(said.utterance))
                - cuts.place
            ) as text
        from cuts
        inner join said
            on cuts.turn_key = said.turn_key
    ),

    marked as (
        select
            turn_key,
            string_agg(text, '' order by place) as text
        from pieces
        group by turn_key
    )

    select
        said.turn_key,
        said.turn_index,
        said.role,
        said.source_speaker,
        said.event_type,
        coalesce(marked.text, said.utterance, selected.text) as text
    from said
    left join marked
        on said.turn_key = marked.turn_key
    left join selected
        on said.turn_key = selected.turn_key
    order by said.turn_index;
comment on macro table core.transcript is 'One row per turn, in order, of the dialogue that a key of any table belongs to: turn_key, turn_index, role, source_speaker, event_type and text. In the text, each marked span is written as [its words](its label). The text of a selection is the selected item.';
{%- endif -%}
{%- endmacro %}
