select
    source_file_id,
    record_index,
    turn_index,
    turn.speaker as speaker,
    turn.utterance as utterance,
    {{ explode_indexed('turn.frames', 'frame', 'frame_index') }}
from {{ ref('stg_sgd__nested_turns') }}
