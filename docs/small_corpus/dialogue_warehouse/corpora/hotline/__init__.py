"""The room of Hotline."""
