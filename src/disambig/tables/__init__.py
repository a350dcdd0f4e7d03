"""A file as a table: read, written, and the labels in it understood."""
