"""Numerical problems that several methods share, each solved once: pure functions of arrays."""
