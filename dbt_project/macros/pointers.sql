{#- One reference token of a JSON pointer (RFC 6901). -#}
{% macro pointer_token(text) -%}
    replace(replace({{ text }}, '~', '~0'), '/', '~1')
{%- endmacro %}

{#- The forms of a corpus's keys, if the corpus is built. `forms` maps the form of a key, without the dialogue's key
    in front, to the form of its JSON pointer inside the record, and to a second form if the row has two places in
    the record. -#}
{% macro pointer_forms(corpus_id, forms) -%}
select
    corpora.corpus_id,
    forms.key_form,
    forms.pointer_form,
    forms.other_pointer_form
from (
    select
        '' as key_form,
        '' as pointer_form,
        cast(null as string) as other_pointer_form
    {%- for key_form, pointers in forms.items() %}
    union all
    select
        '{{ key_form }}' as key_form,
        '{{ pointers[0] }}' as pointer_form,
        {{ "'" ~ pointers[1] ~ "'" if pointers | length > 1 else 'cast(null as string)' }} as other_pointer_form
    {%- endfor %}
) as forms
inner join {{ ref('stg_landing__corpora') }} as corpora
    on corpora.corpus_id = '{{ corpus_id }}'
{%- endmacro %}

{#- Publishes two macros of the database, which need no file and work in any client of DuckDB from 1.5 on: `from
    core.source_of(key)` returns file, record and JSON pointers, `core.json_pointer(key)` only the pointer.
    The macros do not check that the key has a row: a dialogue's turn 99 has a pointer too. All segments of a key become
    pointer tokens at once; `%25` is replaced last, because the `%` that it becomes does not escape anything. DuckDB
    inserts a caller's column in place of `key`, so the names in `wanted` must not be column names of any table. On
    other engines nothing is published. -#}
{% macro create_pointer_macros() -%}
{%- set dialogues, forms = ref('dim_dialogues'), ref('dim_pointer_forms') -%}
{%- if target.type == 'duckdb' -%}
create or replace macro core.source_of(key) as table
    with

    wanted as (
        select
            key as wanted_key,
            concat_ws('/', split_part(key, '/', 1), split_part(key, '/', 2), split_part(key, '/', 3)) as wanted_dialogue
    ),

    fitted as (
        select
            dialogues.source_file_id,
            dialogues.record_index,
            dialogues.record_pointer,
            forms.pointer_form,
            forms.other_pointer_form,
            string_split(forms.key_form, '/') as names,
            string_split(
                replace(
                    replace(
                        replace(substr(wanted.wanted_key, length(wanted.wanted_dialogue) + 1), '%7E', '~0'),
                        '%2F', '~1'
                    ),
                    '%25', '%'
                ),
                '/'
            ) as tokens
        from wanted
        inner join {{ dialogues.include(database=false) }} as dialogues
            on wanted.wanted_dialogue = dialogues.dialogue_key
        inner join {{ forms.include(database=false) }} as forms
            on dialogues.corpus_id = forms.corpus_id
    ),

    best as (
        select *
        from fitted
        where
            len(names) = len(tokens)
            and len(
                list_filter(list_zip(names, tokens), lambda pair: pair[1] <> pair[2] and not starts_with(pair[1], '{'))
            ) = 0
        qualify row_number() over (order by len(list_filter(names, lambda name: starts_with(name, '{')))) = 1
    )
    {% for form in ['pointer_form', 'other_pointer_form'] %}
    {%- set filled -%}
        record_pointer || array_to_string(
            list_transform(
                string_split({{ form }}, '/'),
                lambda name: case
                    when starts_with(name, '{') then tokens[list_position(names, name)] else name
                end
            ),
            '/'
        )
    {%- endset -%}
    {%- if loop.first %}
    select
        source_file_id,
        record_index,
        record_pointer,
        {{ filled }} as json_pointer,
    {%- else %}
        {{ filled }} as other_json_pointer
    from best
    {%- endif %}
    {%- endfor %}

    union all

    select
        keys.source_file_id,
        keys.record_index,
        keys.record_pointer,
        keys.json_pointer,
        cast(null as varchar) as other_json_pointer
    from wanted
    inner join {{ this.include(database=false) }} as keys
        on wanted.wanted_key = keys.traced_key;
create or replace macro core.json_pointer(key) as (select any_value(json_pointer) from core.source_of(key));
comment on macro table core.source_of is 'One row: the place in the release of the row with this key, of any table: source_file_id, record_index, record_pointer, json_pointer and, if the row has a second place, other_json_pointer.';
comment on macro core.json_pointer is 'JSON pointer (RFC 6901), inside its source file, to the row with this key, of any table; NULL if it has no place.';
{%- endif -%}
{%- endmacro %}
