"""Work for a process that needs nothing but Python, and so begins at once."""

import os
import time
from pathlib import Path


def sign_and_sleep(path):
    """Write the number of the process into a file, and sleep for a minute."""
    Path(f"{path}.new").write_text(str(os.getpid()))
    Path(f"{path}.new").rename(path)
    time.sleep(60)
