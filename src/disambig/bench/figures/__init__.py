"""Figures of a study: matplotlib stays in here, and its global state as it was."""
