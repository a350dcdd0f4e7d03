"""Methods from the literature that train networks by a rule: one file each."""
