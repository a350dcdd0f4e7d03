"""Train many networks at once on candidate sets: torch only, no scikit-learn."""
