"""Orchestration and ingestion of the dialogue warehouse: from raw releases to one published database."""
