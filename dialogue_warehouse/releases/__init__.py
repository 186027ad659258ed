"""The files of a release on disk: which are there, what each is, and the records in it.

What belongs here: reading a source, for a build, `status`, `trace` and `verify` alike. What does not: checking records
against a schema and writing Parquet (`pipelines.ingestion`). Knows no corpus by name.
"""
