"""A page on this machine, for one person, to settle doubtful rows."""
