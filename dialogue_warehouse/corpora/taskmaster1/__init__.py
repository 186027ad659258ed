"""The corpus Taskmaster-1."""
