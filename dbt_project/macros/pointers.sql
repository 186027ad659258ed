{#- One reference token of a JSON pointer (RFC 6901). -#}
{% macro pointer_token(text) -%}
    replace(replace({{ text }}, '~', '~0'), '/', '~1')
{%- endmacro %}
