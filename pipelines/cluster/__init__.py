"""Spark, for data that is too large for one machine: a session of this process or a running server, and its use.

What belongs here: finding Java, starting and ending Spark, its settings, running SQL and Python functions on it, the
check that its machines see the warehouse. What does not: what is built with it (`pipelines.building`), how a file is
landed (`pipelines.ingestion`). Only `session` imports pyspark.
"""
