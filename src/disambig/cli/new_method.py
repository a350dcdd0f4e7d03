"""``disambig new-method``: the files of a method of one's own, ready to train and to change."""

import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from disambig._core.errors import ParameterError

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
_FILES = {"method": "{}.py", "test": "test_{}.py", "study": "{}-study.toml"}


def new_method(
    name: Annotated[
        str, typer.Argument(help="Its name in small letters, such as my_method.", metavar="NAME")
    ],
    folder: Annotated[
        Path, typer.Option(help="Where to put the three files.", metavar="FOLDER")
    ] = Path(),
) -> None:
    """Write a method of your own, its test, and a study of it.

    The method trains as it is: its rule is a page of torch code to change. Checkpoints, files,
    folds side by side on a GPU, and the checks that every method must pass come with the base
    class.

    Example: disambig new-method my_method
    """
    # keeps --help quick
    from disambig._core.files import make_folder, write_atomically
    from disambig.cli.console import path_word, say, say_next, say_path

    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ParameterError(
            f"A method is called like a module of Python, such as my_method: small letters, digits "
            f"and single underscores. Got {name!r}."
        )
    _check_name_is_free(name)
    words = [word.capitalize() for word in name.split("_")]
    names = {
        "module": name,
        "name": "".join(words),
        "rule": "".join([*words, "Rule"]),
        "title": " ".join([words[0], *name.split("_")[1:]]),
    }
    written = {folder / path.format(name): text for path, text in _filled(names).items()}
    for path in written:
        if path.exists():
            raise ParameterError(
                f"{path} already exists and was left unchanged. Choose another name or --folder."
            )
    make_folder(folder)
    for path, text in written.items():
        with write_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    method, test, study = written
    say_path("The method:", method)
    say_path("Its test:", test)
    say_path("A study of it:", study)
    say(f"\nTo test it:\n  python -m pytest {path_word(test)}", wrap=False)
    say_next(("compare it with others, after every change", ["study", path_word(study)]))


def _check_name_is_free(name: str) -> None:
    """Refuse a name that a method or module has: Python would import the other one."""
    from importlib.util import find_spec

    from disambig.methods.registry import all_methods

    if name in all_methods() or find_spec(name) is not None:
        raise ParameterError(
            f"There is a method or a Python module called {name!r} already. Choose another name."
        )


def _filled(names: dict[str, str]) -> dict[str, str]:
    """Return the content of every file, by the pattern of its name."""
    source = files("disambig.cli") / "new_method_files"
    return {
        pattern: Template((source / f"{kind}.txt").read_text(encoding="utf-8")).substitute(names)
        for kind, pattern in _FILES.items()
    }
