"""Commands on a page of the site are run, and what they print is shown."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).resolve().parent.parent / "docs" / "_extensions"


@pytest.fixture
def built(tmp_path):
    """Build a site of one page, and return how that ended and the page as text."""

    def build(*commands, **settings):
        (tmp_path / "conf.py").write_text(
            f"import sys\nsys.path.insert(0, {str(EXTENSIONS)!r})\n"
            "extensions = ['myst_parser', 'commands']\n",
            encoding="utf-8",
        )
        block = "\n".join(["```{command}", *commands, "```"])
        (tmp_path / "index.md").write_text(f"# Page\n\n{block}\n", encoding="utf-8")
        options = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "sphinx",
                "-q",
                "-b",
                "text",
                *options,
                tmp_path,
                tmp_path / "o",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        page = tmp_path / "o" / "index.txt"
        return done, page.read_text(encoding="utf-8") if page.exists() else ""

    return build


def test_commands_share_a_folder_and_their_output_stands_below_them(built):
    # A long command goes on in the next line, as in a shell.
    done, page = built("disambig example", "disambig audit vehicles.csv \\", "    --labels label")
    assert done.returncode == 0, done.stderr
    assert "100 rows, 19 columns:" in page
    assert "Next, look at it:" in page
    assert "746 rows, 18 features" in page
    assert page.index("disambig example") < page.index("746 rows, 18 features")


def test_commands_can_be_shown_without_being_run(built):
    _, page = built("disambig example", run_commands=0)
    assert "disambig example" in page
    assert "746 rows" not in page


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("disambig audit missing.csv", "ended with 2:.*There is no file missing.csv"),
        ("rm -r folder", "Only commands of disambig are run. Got 'rm -r folder'"),
    ],
)
def test_a_command_that_fails_or_is_not_ours_is_an_error(built, command, message):
    done, _ = built(command)
    assert re.search(message, done.stderr, re.DOTALL)
