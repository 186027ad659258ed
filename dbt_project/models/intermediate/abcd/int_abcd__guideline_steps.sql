{#- A button's caption is its action with capital letters and with spaces instead of hyphens, except for the captions
    listed here; N/A and End Conversation press no button. -#}
with

buttons as (
    select
        *,
        case button
            when 'Membership Privileges' then 'membership'
            when 'Notify Internal Team' then 'notify-team'
            when 'Select Answer' then 'select-faq'
            when 'Enter Detail' then 'enter-details'
            when 'Log Out/In' then 'log-out-in'
            when 'Boots' then 'search-boots'
            when 'Jacket' then 'search-jacket'
            when 'Jeans' then 'search-jeans'
            when 'Shirt' then 'search-shirt'
            when 'Pricing' then 'search-pricing'
            when 'Timing' then 'search-timing'
            when 'Policy' then 'search-policy'
            when 'Membership' then 'search-membership'
            else replace({{ lower_case('button') }}, ' ', '-')
        end as act_of_caption
    from {{ ref('stg_abcd__guideline_steps') }}
)

select
    'abcd/guideline/' || {{ key_segment('buttons.flow_title') }} || '/'
        || {{ key_segment('buttons.subflow_title') }} as guideline_key,
    'abcd' as corpus_id,
    buttons.step_index,

    buttons.step_type,
    buttons.button,
    acts.act,
    buttons.text,
    buttons.subtext
from buttons
left join {{ ref('int_abcd__acts') }} as acts
    on
        buttons.act_of_caption = acts.act
        and acts.act_occurrence = 1
