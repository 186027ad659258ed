with

labels as (
    {% for requirement in ['required', 'optional'] -%}
    select
        source_file_id,
        record_index,
        source_name,
        service,
        service_occurrence,
        '{{ requirement }}' as requirement,
        {{ explode_indexed(requirement, 'label', 'position') }}
    from {{ ref('stg_taskmaster1__ontology') }}
    {% if not loop.last %}
    union all

    {% endif %}
    {%- endfor %}
)

select
    source_file_id,
    record_index,
    source_name,
    service,
    service_occurrence,

    requirement,
    label,
    row_number() over (partition by source_file_id, record_index, requirement, label order by position)
        as label_occurrence,
    position
from labels
