"""Spark, for what is too large for one machine: a session of this process or a server that stands, and what runs on it.

What belongs here: finding Java, starting and ending Spark, its settings, running SQL and Python functions on it, the
check that its machines see the warehouse. What does not: what is built with it (`pipelines.building`), how a file is
landed (`pipelines.ingestion`). `session` alone imports pyspark.
"""
