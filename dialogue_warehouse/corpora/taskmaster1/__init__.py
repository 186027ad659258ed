"""The room of Taskmaster-1."""
