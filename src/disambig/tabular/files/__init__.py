"""Files that hold tables or arrays, one record per format."""
