"""The pages about a published build: charts, the report, a dialogue as HTML.

What belongs here: what a page says (`contents`, `histories`, `dictionary`), charts (`pictures`, `drawing`), and writing
the files (`report`); templates are in `templates/`. Pages load nothing but the style sheets and the script beside them.
What does not: computing what SQL users would want too, which is a table of `analytics` or `quality`.
"""
