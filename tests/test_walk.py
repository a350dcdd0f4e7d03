"""How far a call walks before it trains: the limits that keep the house easy to read."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "walk.py"


@pytest.fixture(scope="module")
def walk() -> ModuleType:
    spec = importlib.util.spec_from_file_location("walk", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_comes_to_its_training_step_in_few_files_and_frames(walk: ModuleType) -> None:
    found = walk.trace_command()
    # Three of them say beforehand how long it will take, eleven recognise how people write files,
    # numbers, dates, labels and images, one reads and writes folders of models, and one makes
    # dataclasses of options.
    # Seven see to tables that stay on disk, to several processes and to declared parameters.
    assert len(found.files) <= 94, found.files
    # One of them says what an interrupt leaves.
    assert len(found.stack) <= 14, found.stack
    assert found.stack[0] == "cli/main.py:main"
    assert "tabular/out_of_fold.py:fit_all_rows" in found.stack


def test_the_estimator_comes_to_its_training_step_in_few_frames(walk: ModuleType) -> None:
    found = walk.trace_estimator()
    # One of them forgets what training needs of every row before confidences are computed.
    assert len(found.stack) <= 8, found.stack
    assert found.stack[-1].endswith(walk.TRAINING_STEP)


def test_functions_count_once_and_bodies_of_modules_and_classes_not(
    walk: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "SOURCE", tmp_path)
    for name, code in {
        "step.py": "class Training:\n    kind = 1\n    def step(self): return [1 for _ in 'ab']",
        "call.py": "def twice(step):\n    (lambda: step())()\n    step()\n    return later()\n"
        "def later(): return 1",
    }.items():
        (tmp_path / name).write_text(code)
    names: dict[str, object] = {}

    def call() -> None:
        for path in sorted(tmp_path.glob("*.py"), reverse=True):
            exec(compile(path.read_text(), str(path), "exec"), names)
        names["twice"](names["Training"]().step)  # type: ignore[operator]

    found = walk.trace("a call", call, step="Training.step")
    assert found.functions == ["call.py:twice", "step.py:Training.step", "call.py:later"]
    assert found.functions_to_step == found.functions[:2]
    assert found.stack == ["call.py:twice", "step.py:Training.step"]
    assert found.files == ["call.py", "step.py"]


def test_a_call_that_never_trains_is_refused(walk: ModuleType) -> None:
    with pytest.raises(SystemExit, match="never called Training._train_step"):
        walk.trace("nothing", lambda: None)
