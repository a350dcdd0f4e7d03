"""Waiting for other processes without a guess at how fast they are."""

import sys
import time
from pathlib import Path

# Seconds after which a test gives up: long, because a machine may be busy with other work.
PATIENCE = 300


def wait_until(condition):
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def open_gate(path, fits=sys.maxsize):
    """Let so many fits through, counted from the beginning of their log."""
    new = Path(f"{path}.new")
    new.write_text(str(fits))
    new.rename(path)


def fits_let_through(path):
    """Return how many fits may go on; -1 where the gate is closed."""
    try:
        return int(Path(path).read_text())
    except FileNotFoundError:
        return -1
