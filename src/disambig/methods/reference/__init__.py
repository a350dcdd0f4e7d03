"""Ceilings and floors: what true labels would give, and what no disambiguation gives."""
