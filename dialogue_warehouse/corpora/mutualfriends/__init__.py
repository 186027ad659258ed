"""The corpus MutualFriends."""
