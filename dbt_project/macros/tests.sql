{#- Fails if several rows share a combination of values; NULL counts as a value. This is NOT a key: where a table has
    one column that is its key, `unique` tests that. -#}
{% test unique_combination(model, columns) %}
select
    {{ columns | join(',\n    ') }},
    count(*) as row_count
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
