"""Numerical problems that methods share: functions and small models of arrays and sets."""
