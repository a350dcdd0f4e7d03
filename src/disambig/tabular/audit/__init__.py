"""A look at a table before anything is trained on it."""
