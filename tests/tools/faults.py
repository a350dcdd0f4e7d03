"""Run tools/faults, or a script among its modules, in a process of its own: it forks."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tools" / "faults"


def run_faults(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, FOLDER, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_share(campaign: str, share: float, folder: Path) -> tuple[str, int]:
    """Run a share of a campaign; return its page, in which nothing has failed, and the tried."""
    ended = run_faults("--only", campaign, "--share", share, "--folder", folder)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    page = (folder / "faults.md").read_text()
    assert "Nothing failed." in page
    row = next(line for line in page.splitlines() if line.startswith(f"| {campaign} |"))
    _, _, tried, survived, failed, *_ = (cell.strip() for cell in row.split("|"))
    assert (survived, failed) == (tried, "0")
    return page, int(tried.replace(",", ""))


def run_script(
    script: str, *words: object, **variables: object
) -> subprocess.CompletedProcess[str]:
    """Run a script that may import the modules of the campaigns."""
    process = start_script(script, *words, **variables)
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def start_script(script: str, *words: object, **variables: object) -> subprocess.Popen[str]:
    """Start a script that may import the modules of the campaigns, and does not wait for it."""
    settings = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    path = os.pathsep.join([str(FOLDER), *filter(None, [settings.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**settings, "PYTHONPATH": path},
    )
