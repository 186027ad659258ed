"""The dashboard: pages about the published build, served by Streamlit. Needs the extra `dashboard`.

What belongs here: the pages (one module each), their queries (`published`), and starting the server (`serving`). What
does not: charts and HTML (`dialogue_warehouse.site`), and queries that SQL users would want too. Text of a corpus is
shown in tables and in escaped HTML, never as Markdown, which could load a picture from another server.
"""
