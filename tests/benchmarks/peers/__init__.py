"""Peers: other ways to get SGD's dialogues into tables, one script a library, each in an environment of its own.

Beside each script stand its requirements; `make bench-peers` makes the environments and compares. By hand:
`python -m tests.benchmarks.peers.read_with_polars FOLDER`, FOLDER as published (`FOLDER/train/dialogues_001.json`).
"""
