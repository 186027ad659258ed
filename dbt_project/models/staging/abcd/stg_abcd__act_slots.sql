select
    act_group,
    act,
    act_occurrence,
    {{ explode_indexed('slots', 'slot', 'position') }}
from {{ ref('stg_abcd__actions') }}
