"""Fingerprints of files, values and code."""

import hashlib
import importlib
import itertools
import os
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core import fingerprint
from disambig._core.errors import DisambigError, HashMismatchError
from disambig._core.fingerprint import (
    check_file_digest,
    code_fingerprint,
    code_hashes,
    file_digest,
    file_state,
    fingerprint_of,
    sha256_hex,
)
from disambig._core.parameters import check_choice, make_generator
from waiting import wait_until


def test_sha256_of_the_empty_file_is_the_published_one() -> None:
    assert file_digest(b"", "sha256") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_git_blob_of_the_empty_file_is_the_published_one() -> None:
    assert file_digest(b"", "git-blob") == "git-blob:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_blob_is_what_git_hash_object_says(tmp_path: Path) -> None:
    contents = [b"", b"one line\n", b"two\r\nlines\r\n", bytes(range(256)) * 300]
    for number, content in enumerate(contents):
        (tmp_path / f"{number}").write_bytes(content)
    names = [str(number) for number in range(len(contents))]
    answer = subprocess.run(
        ["git", "hash-object", "--no-filters", *names],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
    )
    expected = [f"git-blob:{digest}" for digest in answer.stdout.split()]
    assert [file_digest(content, "git-blob") for content in contents] == expected


@given(st.binary(), st.sampled_from(["sha256", "git-blob"]))
def test_content_passes_the_check_against_its_own_fingerprint(content: bytes, kind: str) -> None:
    check_file_digest(content, file_digest(content, kind), "file.mat", "")


@given(st.binary(min_size=1), st.sampled_from(["sha256", "git-blob"]), st.data())
def test_one_changed_byte_is_noticed(content: bytes, kind: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(content) - 1))
    change = data.draw(st.integers(1, 255))
    damaged = bytearray(content)
    damaged[position] ^= change
    with pytest.raises(HashMismatchError):
        check_file_digest(bytes(damaged), file_digest(content, kind), "file.mat", "")


def test_mismatch_names_the_file_both_hashes_and_the_advice() -> None:
    found = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(
        HashMismatchError,
        match=rf"lost\.mat is not the known file\. Needed sha256:00, got sha256:{found}\. Go!",
    ):
        check_file_digest(b"other", "sha256:00", Path("lost.mat"), "Go!")


def test_mismatch_is_a_value_error_and_one_of_ours() -> None:
    assert issubclass(HashMismatchError, ValueError)
    assert issubclass(HashMismatchError, DisambigError)


def test_chunks_are_hashed_one_after_the_other() -> None:
    assert sha256_hex(b"a", b"bc") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.arange(3), np.arange(3, dtype=np.int32)),
        (np.array([[1.5, 2.5]]), np.array([[1.5, 2.5]], order="F", dtype=np.float32)),
        (np.array([True, False]), np.array([1, 0])),
        (np.array(["a", "b"]), ["a", "b"]),
        ({"b": np.float64(0.5), "a": np.arange(2)}, {"a": [0, 1], "b": 0.5}),
        ((1, (2, "x")), [1, [2, "x"]]),
    ],
)
def test_equal_values_have_equal_fingerprints_however_they_are_stored(first, second) -> None:
    assert fingerprint_of(first) == fingerprint_of(second)


def test_other_values_shapes_and_borders_have_other_fingerprints() -> None:
    values = [
        ("ab",),
        ("a", "b"),
        ("b", "a"),
        (["a", "b"],),
        (1,),
        (1.0,),
        (None,),
        (np.zeros(2),),
        (np.zeros(2, dtype=int),),
        (np.zeros((1, 2)),),
        (np.zeros(1), np.zeros(1)),
        (),
    ]
    assert len({fingerprint_of(*some) for some in values}) == len(values)


def test_an_object_may_say_what_its_fingerprint_depends_on() -> None:
    class Range:
        def __init__(self, start: int, stop: int) -> None:
            self.start, self.stop, self.reads = start, stop, 0

        def fingerprint_parts(self) -> tuple[int, int]:
            self.reads += 1
            return self.start, self.stop

    used = Range(1, 2)
    fingerprint_of(used)
    assert fingerprint_of(used) == fingerprint_of(Range(1, 2))
    assert fingerprint_of(used) != fingerprint_of(Range(1, 3))


def test_a_value_without_a_fingerprint_is_refused() -> None:
    with pytest.raises(TypeError, match="Cannot take the fingerprint of an? object: give plain"):
        fingerprint_of({"key": object()})


# A package with a method, an equation, an import of disambig, and a module nobody imports.
PACKAGE = {
    "__init__.py": "import nothing_that_exists\n",
    "__init__.pyi": "from .names import share as share\n",
    "names/__init__.py": "release = 1\n",
    "names/__init__.pyi": "from ..schedule import share as share\n",
    "method.py": """
        import math
        from typing import TYPE_CHECKING

        from disambig._core.errors import DisambigError
        from disambig._core.parameters import check_real
        from methods_elsewhere import share
        if TYPE_CHECKING:
            from methods_elsewhere.unused import other

        class Method:
            def fit(self):
                from . import steps
                return share(steps.first(1))
    """,
    "schedule.py": """
        import math
        def share(epoch):
            'Return the share.'
            return 1 - math.exp(-5 * epoch)  # Eq. 5
    """,
    "steps.py": "from .deeper.last import step as first\n",
    "deeper/__init__.py": "",
    "deeper/last.py": "import methods_elsewhere.deeper.constants\nfrom ..base import Base\n",
    "deeper/constants.py": "STEP = 0.5\n",
    "base.py": """
        try:
            from methods_elsewhere.names import release
        except ImportError:
            release = 0

        class Base:
            since = release
    """,
    "unused.py": "other = 1\n",
}


@pytest.fixture
def fingerprint_after(tmp_path, monkeypatch):
    """Return a function: change a file of the package, and take the fingerprint of its method."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    copies = itertools.count()

    def change_and_read(file: str = "", old: str = "", new: str = "") -> str:
        folder = tmp_path / str(next(copies)) / "methods_elsewhere"
        for name, text in PACKAGE.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            code = textwrap.dedent(text)
            path.write_text(code.replace(old, new) if name == file else code)
        package = types.ModuleType("methods_elsewhere")
        package.__path__ = [str(folder)]
        package.share = None
        monkeypatch.setitem(sys.modules, "methods_elsewhere", package)
        sys.modules.pop("methods_elsewhere.method", None)
        return code_fingerprint(importlib.import_module("methods_elsewhere.method").Method)

    yield change_and_read
    sys.modules.pop("methods_elsewhere.method", None)


@pytest.mark.parametrize(
    "change",
    [
        ("method.py", "first(1)", "first(2)"),
        ("schedule.py", "-5", "-50"),
        ("steps.py", "first", "second"),
        ("deeper/last.py", "Base", "Base as Root"),
        ("deeper/constants.py", "0.5", "0.25"),
        ("base.py", "since", "until"),
        ("base.py", "release = 0", "release = None"),
        ("names/__init__.py", "1", "2"),
        ("schedule.py", "import math", "import math; math.tau = 6"),
        ("schedule.py", "import math", "import math\nfor name in ['tau']: setattr(math, name, 6)"),
        ("schedule.py", "import math", "import math\nfrom .unused import *"),
        ("method.py", "import other", "import other\nelse: math.tau = 6"),
    ],
)
def test_the_code_that_a_method_reaches_changes_its_fingerprint(fingerprint_after, change) -> None:
    assert fingerprint_after(*change) != fingerprint_after()


@pytest.mark.parametrize(
    "change",
    [
        ("schedule.py", "Return the share.", "Return something else."),
        ("schedule.py", "# Eq. 5", ""),
        ("schedule.py", "1 - math.exp(-5 * epoch)", "(1 -\n math.exp(-5*epoch))"),
        ("method.py", "unused import other", "unused import another"),
        ("unused.py", "1", "2"),
        ("schedule.py", "def share", "LIMIT = 3\ndef limit(epoch): return LIMIT\n\ndef share"),
        ("__init__.py", "nothing", "something"),
    ],
)
def test_words_layout_and_other_modules_do_not_change_it(fingerprint_after, change) -> None:
    assert fingerprint_after(*change) == fingerprint_after()


def test_what_a_function_reaches_is_told_module_by_module() -> None:
    hashes = code_hashes(check_choice)
    assert list(hashes) == ["disambig._core.parameters"]
    assert hashes != code_hashes(make_generator)


def test_modules_that_are_said_to_have_no_effect_exist() -> None:
    for name in fingerprint._WITHOUT_EFFECT:
        importlib.import_module(name)
    assert code_hashes(fingerprint_of) == {}


def test_in_our_package_a_constant_counts_and_a_comment_does_not(tmp_path) -> None:
    source = Path(sys.modules["disambig"].__file__).parent
    code = (
        "import disambig._core.fingerprint as f, disambig._core.parameters as p;"
        "assert p.__file__.startswith({folder!r}); print(f.code_fingerprint(p))"
    )

    def fingerprint(name: str, old: str, new: str) -> str:
        folder = tmp_path / name
        shutil.copytree(source / "_core", folder / "disambig/_core")
        for file in source.glob("_*.py*"):
            shutil.copy(file, folder / "disambig")
        parameters = folder / "disambig/_core/parameters.py"
        text = parameters.read_text()
        assert old in text
        parameters.write_text(text.replace(old, new))
        printed = subprocess.run(
            [sys.executable, "-c", code.format(folder=str(folder))],
            capture_output=True,
            check=True,
            env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            text=True,
        )
        return printed.stdout.strip()

    unchanged = code_fingerprint(sys.modules["disambig._core.parameters"])
    assert fingerprint("comment", "# 31 bits", "# Thirty-one bits") == unchanged
    assert fingerprint("constant", ">> 1", ">> 2") != unchanged


def test_modules_without_a_source_are_left_out(monkeypatch) -> None:
    modules = [types.ModuleType(name) for name in ("in_a_notebook", "in_another")]
    for module in modules:
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert len({code_fingerprint(module) for module in modules}) == 1


def test_a_module_of_one_file_counts_and_is_read_again_when_it_changes(
    tmp_path, monkeypatch
) -> None:
    fingerprints = set()
    file = tmp_path / "one_file.py"
    for number in range(2):
        file.write_text(f"STEP = {number}\nimport one_file.nothing\n")
        os.utime(file, (number, number))
        module = types.ModuleType("one_file")
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, "one_file", module)
        fingerprints.add(code_fingerprint(module))
    assert len(fingerprints) == 2


def test_no_digest_at_all_fits_nothing():
    assert not fingerprint.has_digest(b"content", "")


class Blocks:
    """Rows that come in blocks, as from a file."""

    def __init__(self, rows):
        self.rows, self.shape = rows, rows.shape

    def blocks(self):
        yield self.rows[:2]
        yield self.rows[2:]


def test_rows_that_come_in_blocks_count_as_the_array_that_they_are():
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    assert fingerprint_of(Blocks(rows)) == fingerprint_of(rows)
    assert fingerprint_of(Blocks(rows + 1)) != fingerprint_of(rows)


def test_a_file_that_was_changed_has_another_state_though_its_size_and_time_are_the_same(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before, state = path.stat(), file_state(path)
    assert file_state(path) == state
    path.write_bytes(b"new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    wait_until(lambda: os.utime(path, ns=(0, before.st_mtime_ns)) or file_state(path) != state)
