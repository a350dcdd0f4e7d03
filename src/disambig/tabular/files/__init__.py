"""Files that hold tables: a reader and a writer for every format."""
