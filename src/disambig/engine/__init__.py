"""Train many networks at once on candidate sets: torch only, nothing of scikit-learn's interface."""
