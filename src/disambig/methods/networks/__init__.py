"""Methods on networks: the base class, and what it fits, watches, keeps and writes."""
