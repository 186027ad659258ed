"""The corpus ABCD, Action-Based Conversations Dataset."""
