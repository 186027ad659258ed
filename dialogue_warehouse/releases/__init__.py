"""The files of a release on disk: their paths, their kinds, and the records in them.

What belongs here: reading a source, for a build, `status`, `trace` and `verify` alike. What does not: checking records
against a schema and writing Parquet (`pipelines.ingestion`). Knows no corpus by name.
"""
