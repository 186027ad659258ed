"""The corpus Hotline."""
