"""The room of ABCD, Action-Based Conversations Dataset."""
