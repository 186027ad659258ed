"""Peers: other ways to read SGD's dialogues into tables, one script per library, each in a separate environment.

The requirements of each script are next to it; `make bench-peers` creates the environments and compares. By hand:
`python -m tests.benchmarks.peers.read_with_polars FOLDER`, with FOLDER as published
(`FOLDER/train/dialogues_001.json`).
"""
