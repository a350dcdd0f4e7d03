"""What other tools export and load: annotation tools, crowds and language models, both ways."""
