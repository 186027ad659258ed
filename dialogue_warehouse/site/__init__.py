"""The report: a static site about the published build, which opens from disk with no network.

What belongs here: what the pages say (`contents`), measured tables side by side (`grids`), which dialogues have a page
(`conversations`), and writing them (`site`); what they look like is in `templates/`, and no page loads anything but the
style sheets and `report.js` beside it. What does not: drawing (`dialogue_warehouse.site`), and computing anything that SQL
users would want too, which is a table of `analytics` or `quality`.
"""
