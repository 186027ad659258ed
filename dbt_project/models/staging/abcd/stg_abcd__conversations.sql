select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    cast(convo_id as string) as dialogue_id,
    scenario.flow as flow,
    scenario.subflow as subflow
from {{ source('raw_abcd', 'abcd__conversations') }}
