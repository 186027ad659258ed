"""The room of MutualFriends."""
