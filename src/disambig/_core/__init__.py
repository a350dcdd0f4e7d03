"""What every layer stands on: errors, seeds, checked parameters, safe files, lazy imports."""
