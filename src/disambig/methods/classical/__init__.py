"""Methods from the literature that need no network: one file each."""
