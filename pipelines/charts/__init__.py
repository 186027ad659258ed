"""Pictures of the published tables, for the report and whatever else shows them.

A picture is a table whose values are drawn beside their numbers: it needs no script, fits every width, has the colors
of the page around it, and is read aloud as the table that it is. `drawing.style()` is all that it needs.

What belongs here: which pictures there are, the queries behind them, and the shapes in which they are drawn.
What does not: the pages that show them, and the tables that they are drawn from.
"""
