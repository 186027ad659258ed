"""The corpus Bargain."""
