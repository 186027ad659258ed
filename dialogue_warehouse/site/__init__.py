"""The pages about a published build: charts, the report, a dialogue as HTML.

What belongs here: the content of a page (`contents`, `histories`, `dictionary`), charts (`pictures`, `drawing`), and
writing the files (`report`); templates are in `templates/`. Pages load only the style sheets and the script beside
them. What does not: computing data that SQL users would want too; they belong in a table of `analytics` or `quality`.
"""
