"""The dashboard: pages about the published build, served by Streamlit on this machine, which only read.

What belongs here: the pages (a module each), what they read (`published`), and starting the server (`serving`). What
does not: drawing (`dialogue_warehouse.site`), a dialogue's own look (`dialogue_warehouse.reading`), and queries that SQL
users would want too. A page shows text of a corpus in tables and in HTML that is escaped, never as Markdown, in which
it could load a picture from elsewhere.
"""
