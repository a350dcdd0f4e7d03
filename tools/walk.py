"""Trace real calls and print how each walks through our files, up to its first training step.

Two calls are traced: ``disambig fit vehicles.csv --labels label --method ncpd --out model`` on the
table that ``disambig example`` writes, and ``NCPDClassifier.fit(X, y)`` on a ``CandidateLabels``,
both with few epochs and small networks (``--set`` adds the few functions that read it).

What counts
-----------
- Functions and methods of ``src/disambig`` that are called, each once. Module and class bodies are
  run by imports and do not count; lambdas and comprehensions are part of the function around them.
- Files that hold at least one of these functions.
- At the first call of the training step: the functions and files so far, the step included, and
  the frames of ours on the stack. A generator that a caller reads from has a frame there too.
  Steps that are only timed before, to say how long it will take, are not the first.
- Only the thread that makes the call; progress bars draw in others.

Usage: ``python tools/walk.py`` for a report, ``--write`` to put it into docs/architecture.md.
"""

import argparse
import contextlib
import inspect
import io
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from unittest import mock

import disambig
from disambig import NCPDClassifier
from disambig.cli.main import main as run_disambig
from disambig.datasets import make_partial_label_dataset

# The method of the engine in which one batch is learned from.
TRAINING_STEP = "Training._train_step"
# Where steps are only timed, to say how long a fit will take.
TIMING = "measure_pace"
SOURCE = Path(disambig.__file__).parent
PAGE = Path(__file__).resolve().parent.parent / "docs" / "architecture.md"
BEGIN, END = "<!-- the walk, by tools/walk.py -->", "<!-- end of the walk -->"

# By NCPD, of which the default, NCPD+, trains several.
COMMAND = ("fit", "vehicles.csv", "--labels", "label", "--method", "ncpd", "--out", "model")
# All in this process, on a machine with any number of cores.
IN_ONE_PROCESS = ("--jobs", "1")
# Small trainings: how much is computed does not change the walk.
SMALL = {"epochs": 2, "ramp_epochs": 1, "hidden": 8}


@dataclass
class Walk:
    """What one call went through.

    Attributes
    ----------
    title : str
        The call.
    functions, functions_to_step : list of str
        ``file:function`` in the order of their first calls, in the whole call and up to the step.
    stack : list of str
        Our frames at the first training step, outermost first.
    """

    title: str
    functions: list[str] = field(default_factory=list)
    functions_to_step: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """Files touched in the whole call, in the order of the walk."""
        return _files(self.functions)

    @property
    def files_to_step(self) -> list[str]:
        """Files touched up to the first training step."""
        return _files(self.functions_to_step)


def trace(title: str, call: Callable[[], object], step: str = TRAINING_STEP) -> Walk:
    """Make a call and return its walk; the call has to come to a training step."""
    walk, seen = Walk(title), set[CodeType]()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not _is_ours(code):
            return
        if code not in seen:
            seen.add(code)
            walk.functions.append(_name(code))
        if code.co_qualname == step and not walk.stack:
            callers = [caller.f_code for caller in _frames(frame)]
            if all(caller.co_qualname != TIMING for caller in callers):
                walk.functions_to_step = list(walk.functions)
                walk.stack = [_name(caller) for caller in callers]

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    if not walk.stack:
        raise SystemExit(f"{title} never called {step}. Set TRAINING_STEP in {__file__}.")
    return walk


def trace_command() -> Walk:
    """Trace ``disambig fit`` on the table of ``disambig example``."""
    settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    words = (*COMMAND, *IN_ONE_PROCESS, *settings)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _run_command("example")
        return trace(f"disambig {' '.join(COMMAND)}", lambda: _run_command(*words))


def trace_estimator() -> Walk:
    """Trace ``NCPDClassifier.fit``."""
    data = make_partial_label_dataset(60, 4, 3, random_state=0)
    model = NCPDClassifier(**SMALL, random_state=0)
    return trace("NCPDClassifier.fit(X, y)", lambda: model.fit(data.X, data.candidates))


def report(walks: list[Walk]) -> str:
    """Return the walks as plain text."""
    return "\n\n".join("\n".join([walk.title, *_counts(walk), *_steps(walk)]) for walk in walks)


def markdown(walks: list[Walk]) -> str:
    """Return the walks as a table of counts, and a list of frames for each."""
    rows = [
        "| call | functions | files | functions to the step | files to the step | frames |",
        "|---|---|---|---|---|---|",
        *(
            f"| `{walk.title}` | {len(walk.functions)} | {len(walk.files)} "
            f"| {len(walk.functions_to_step)} | {len(walk.files_to_step)} | {len(walk.stack)} |"
            for walk in walks
        ),
    ]
    stacks = [f"`{walk.title}`:\n\n```text\n" + "\n".join(_steps(walk)) + "\n```" for walk in walks]
    return "\n\n".join(["\n".join(rows), *stacks])


def _counts(walk: Walk) -> list[str]:
    return [
        f"  whole call: {len(walk.functions)} functions in {len(walk.files)} files",
        f"  to the first training step: {len(walk.functions_to_step)} functions in "
        f"{len(walk.files_to_step)} files",
        f"  stack there: {len(walk.stack)} frames in {len(_files(walk.stack))} files",
    ]


def _steps(walk: Walk) -> list[str]:
    return [f"{number:4}  {name}" for number, name in enumerate(walk.stack, start=1)]


def _run_command(*words: str) -> None:
    """Run the command in this process, quietly; stop if it fails."""
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["disambig", *words]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        try:
            run_disambig()
        except SystemExit as end:
            if end.code:
                raise SystemExit(f"disambig {' '.join(words)} failed:\n{said.getvalue()}") from end


def _is_ours(code: CodeType) -> bool:
    # Module and class bodies are not optimised; "<lambda>", "<genexpr>" and the like have no name.
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    return bool(is_function) and code.co_filename.startswith(f"{SOURCE}{os.sep}")


def _frames(frame: FrameType | None) -> list[FrameType]:
    """Return our frames below this one and itself, outermost first."""
    frames = []
    while frame is not None:
        if _is_ours(frame.f_code):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _name(code: CodeType) -> str:
    path = Path(code.co_filename).relative_to(SOURCE).as_posix()
    return f"{path}:{code.co_qualname.replace('.<locals>', '')}"


def _files(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name.partition(":")[0] for name in names))


def write(walks: list[Walk], page: Path = PAGE) -> None:
    """Put the walks between their marks on the page of the architecture."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{markdown(walks)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write docs/architecture.md")
    wants_page = parser.parse_args().write
    found = [trace_command(), trace_estimator()]
    print(report(found))
    if wants_page:
        write(found)
