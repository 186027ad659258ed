{#- The characters of `text` from the position `start`, counted from 0, to `past`, which is excluded. They end with the
    text; NULL if `start` is before the text or after `past`, which the engines treat differently. Any two integers can
    be the positions: a start behind the text counts as its end, because the largest integer has no successor. -#}
{% macro text_between(text, start, past) -%}
    case
        when {{ start }} >= 0 and {{ past }} >= {{ start }}
            then substring({{ text }}, least({{ start }}, length({{ text }})) + 1, {{ past }} - {{ start }})
    end
{%- endmacro %}
