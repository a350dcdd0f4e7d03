"""Commands on a page with what they print: they are run, one after the other, as it is built.

A block ``{command}`` holds commands of disambig, one a line; a backslash at the end of a line
continues it. Those of a page share a folder, which is empty at its top. ``run_commands = 0`` shows
them without running them.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

_WIDTH = "80"


class Command(SphinxDirective):
    """Show commands, what they print, and how long they took."""

    has_content = True
    option_spec: ClassVar[dict[str, object]] = {}

    def run(self) -> list[nodes.Node]:
        """Return a block for the commands and one for what they print."""
        commands = "\n".join(self.content)
        shown: list[nodes.Node] = [nodes.literal_block(commands, commands, language="bash")]
        if not self.config.run_commands:
            return shown
        folder = self.env.temp_data.setdefault("commands", tempfile.TemporaryDirectory())
        begin = time.monotonic()
        each = commands.replace("\\\n", " ").splitlines()
        printed = "".join(self._printed(command, folder.name) for command in each)
        seconds = round(time.monotonic() - begin)
        block = nodes.literal_block(printed, printed, language="text", classes=["printed"])
        took = f"Took {seconds} s on {os.cpu_count()} cores." if seconds > 1 else ""
        note = nodes.paragraph(took, took, classes=["took"])
        return [*shown, block, *([note] if took else [])]

    def _printed(self, command: str, folder: str) -> str:
        program, *arguments = shlex.split(command)
        if program != "disambig":
            raise self.error(f"Only commands of disambig are run. Got {command!r}.")
        done = subprocess.run(  # noqa: S603  # written on our own page
            [sys.executable, "-m", "disambig", *arguments],
            cwd=folder,
            env={**os.environ, "COLUMNS": _WIDTH},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise self.error(f"{command!r} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_config_value("run_commands", default=True, rebuild="env", types=[bool])
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
