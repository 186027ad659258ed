{#- The shared role of a speaker label. `labels` maps the publisher's labels to user, system or peer. -#}
{% macro role_of(speaker, labels) -%}
    case {{ speaker }}
        {%- for label, role in labels.items() %}
        when '{{ label }}' then '{{ role }}'
        {%- endfor %}
        else 'unknown'
    end
{%- endmacro %}
