"""Cells that become many numbers each by a describer that learns nothing from the table: images."""
