select
    corpus_id,
    key_form,
    pointer_form,
    other_pointer_form
from {{ ref('int_pointer_forms_unioned') }}
