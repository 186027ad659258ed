{{ config(meta={'lacks': ['service']}) }}

select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    task as domain
from {{ ref('int_bbai__dialogues') }}
