{#- The rules of SGD about the words of an utterance. -#}
{%- set assent = [
    'absolutely', 'alright', 'awesome', 'certainly', 'cool', 'correct', 'excellent', 'fine', 'go ahead', 'good', 'great',
    'i like it', 'it does', 'it is', 'it s', 'looks', 'nice', 'of course', 'ok', 'okay', 'perfect', 'please', 'right',
    'sounds', 'sure', 'thank you', 'thanks', 'that', 'that s', 'that is', 'that does', 'that will', 'that would', 'thats',
    'this', 'very', 'well', 'works', 'work', 'for me', 'wonderful', 'yeah', 'yep', 'yes'
] %}
{#- A sign between two words without a space. A name of single letters, such as D.C., does not end a sentence. -#}
{%- set unspaced = '[a-z0-9][.][A-Z]|[A-Z][A-Z][.][A-Z]|[a-z][a-z][.]([a-z][a-z]|i)|[a-zA-Z][,!?:][a-zA-Z]' %}
with

-- Marked names that are written so, such as Ph.D.: at most two in a turn.
dotted_names as (
    select
        turn_key,
        min(value) as first_name,
        max(value) as last_name
    from {{ ref('fct_slots') }}
    where corpus_id = 'sgd' and annotation_type = 'span' and regexp_extract(value, '{{ unspaced }}', 0) <> ''
    group by turn_key
),

spaced_texts as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key,
        case
            when dotted_names.turn_key is null then turns.utterance
            else replace(replace(turns.utterance, dotted_names.first_name, ''), dotted_names.last_name, '')
        end as text
    from {{ ref('fct_turns') }} as turns
    left join dotted_names
        on turns.turn_key = dotted_names.turn_key
    where turns.corpus_id = 'sgd' and regexp_extract(turns.utterance, '{{ unspaced }}', 0) <> ''
),

-- Two sentences, or parts of one, without a space between them; the publisher left them this way on purpose.
missing_space as (
    select
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'no space inside ' || regexp_extract(text, '[^ ]*({{ unspaced }})[^ ]*', 0) as detail
    from spaced_texts
    where regexp_extract(text, '{{ unspaced }}', 0) <> ''
),

-- The user's act requests a slot, but the text only agrees with the system.
unworded_request as (
    select
        actions.dialogue_key,
        actions.turn_index,
        actions.action_key as row_key,
        actions.service,
        actions.slot_name,
        'REQUEST of ' || actions.slot_name || ' with the words ' || turns.utterance as detail
    from {{ ref('fct_actions') }} as actions
    inner join {{ ref('fct_turns') }} as turns
        on actions.turn_key = turns.turn_key
    where
        actions.corpus_id = 'sgd'
        and actions.role = 'user'
        and actions.act = 'REQUEST'
        and actions.slot_name is not null
        and regexp_extract(
            {{ regexp_replace_all(lower_case('turns.utterance'), "'[^a-z0-9?]+'", "' '") }},
            '^ ?(({{ assent | join("|") }})( |$))+$', 0
        ) <> ''
)

{{ stack_rules('sgd', turns=['missing_space', 'unworded_request'], slots=['unworded_request']) }}
