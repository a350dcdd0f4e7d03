"""One reader per file format. Each returns a ``PartialLabelDataset``; none ever unpickles."""
