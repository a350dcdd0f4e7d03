"""A model for tables, and the folder that it is kept in."""
