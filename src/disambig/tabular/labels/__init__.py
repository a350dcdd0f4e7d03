"""What the label columns of a table say, and what people have settled."""
