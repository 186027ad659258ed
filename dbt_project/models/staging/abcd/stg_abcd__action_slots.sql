select
    act_group,
    act,
    {{ explode_indexed('slots', 'slot', 'position') }}
from {{ ref('stg_abcd__actions') }}
