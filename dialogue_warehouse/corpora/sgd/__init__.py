"""The room of SGD, Schema-Guided Dialogue."""
