"""A module that cannot be imported."""

raise RuntimeError("broken on purpose")
