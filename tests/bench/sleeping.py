"""Work for a process that needs nothing but Python, and so begins at once."""

import os
import time
from pathlib import Path

from waiting import PATIENCE


def sign_and_sleep(path):
    """Write the number of the process into a file, and sleep for longer than any test waits."""
    Path(f"{path}.new").write_text(str(os.getpid()))
    Path(f"{path}.new").rename(path)
    time.sleep(2 * PATIENCE)
