"""Numerical problems that methods share, solved by functions of arrays and candidate sets."""
