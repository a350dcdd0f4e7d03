"""Feature columns: what they hold, which are used, and how they become numbers."""
