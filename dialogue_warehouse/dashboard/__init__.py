"""The dashboard: pages about the published build, served by Streamlit. Needs the extra `dashboard`.

What belongs here: the pages (a module each), what they read (`published`), and starting the server (`serving`). What
does not: charts and HTML (`dialogue_warehouse.site`), and queries that SQL users would want too. Text of a corpus is
shown in tables and in escaped HTML, never as Markdown, in which it could load a picture from elsewhere.
"""
