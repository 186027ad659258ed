{#- The 18 documented acts in the class order of the Hugging Face card, and every other act in the data; no rows if
    the corpus is not built. -#}
{{ config(meta={'lacks': ['act_group']}) }}

with

documented as (
    {% for act, description in {
        'AFFIRM': 'Agree to the system\'s proposition, or confirm its values.',
        'AFFIRM_INTENT': 'Agree to the intent that the system offered.',
        'CONFIRM': 'Confirm the value of a slot before a transaction is made.',
        'GOODBYE': 'End the dialogue.',
        'INFORM': 'Give the value of a slot.',
        'INFORM_COUNT': 'Say how many results satisfy the request.',
        'INFORM_INTENT': 'Express the desire to do something.',
        'NEGATE': 'Deny the system\'s proposition.',
        'NEGATE_INTENT': 'Decline the intent that the system offered.',
        'NOTIFY_FAILURE': 'Say that the request failed.',
        'NOTIFY_SUCCESS': 'Say that the request succeeded.',
        'OFFER': 'Offer the value of a slot.',
        'OFFER_INTENT': 'Offer a new intent to the user.',
        'REQUEST': 'Ask for the value of a slot.',
        'REQUEST_ALTS': 'Ask for more results than the ones offered.',
        'REQ_MORE': 'Ask whether the user needs anything else.',
        'SELECT': 'Choose a result that the system offered.',
        'THANK_YOU': 'Thank the system.',
    }.items() -%}
    select '{{ act }}' as act, {{ loop.index0 }} as position, '{{ description | replace("'", "''") }}' as description
    {% if not loop.last %}union all {% endif %}
    {%- endfor %}
),

seen as (
    select distinct act from {{ ref('stg_sgd__actions') }}
)

select
    corpora.corpus_id,
    coalesce(documented.act, seen.act) as act,
    1 as act_occurrence,
    'dialogue_act' as action_type,
    documented.position,
    documented.description
from documented
full outer join seen
    on documented.act = seen.act
inner join {{ ref('stg_landing__corpora') }} as corpora
    on corpora.corpus_id = 'sgd'
