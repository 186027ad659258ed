"""The pages about a published build: written to files as the report, and served as the dashboard.

What belongs here: templates, charts, the contents of each page, the server and the processes of users' queries. Both
ways use the same templates; pages that need a server are only served. What does not: queries that SQL users would want
too (they are models), and the search (`dialogue_warehouse.reading.search`). Text of a corpus is always escaped.
"""
