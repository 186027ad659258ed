select distinct
    corpus_id,
    source_speaker,
    role
from {{ ref('fct_turns') }}
where source_speaker is not null
