"""The corpus SGD, Schema-Guided Dialogue."""
