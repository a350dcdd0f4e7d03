import subprocess
import sys

import pytest

from disambig._core.errors import ParameterError, UnknownNameError
from disambig.methods import PLKNN, OracleClassifier, all_methods, get_method


def test_methods_are_found_by_looking():
    methods = all_methods()
    assert list(methods) == sorted(methods)
    assert methods["plknn"] is PLKNN


def test_a_method_is_known_by_its_name():
    assert get_method("plknn") is PLKNN
    assert get_method("oracle") is OracleClassifier


@pytest.mark.parametrize("name", ["plkn", "PLKNN", "classical", "supervised", "base"])
def test_an_unknown_method_is_refused_with_the_known_ones(name):
    known = ", ".join(all_methods())
    with pytest.raises(UnknownNameError, match=f"no method called '{name}'.*Known: {known}"):
        get_method(name)


def test_getting_one_method_does_not_import_the_others():
    code = (
        "import sys; from disambig.methods import get_method; get_method('plknn');"
        "print('disambig.methods.reference' in sys.modules)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == "False"


# From elsewhere ----------------------------------------------------------------------------------

SOURCE = """
from disambig.methods import PLKNN

class Mine(PLKNN):
    class Inner(PLKNN):
        pass

class Alien:
    pass

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "methods_of_mine").mkdir()
    (tmp_path / "methods_of_mine" / "neighbours.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield "methods_of_mine.neighbours"
    for name in ("methods_of_mine", "methods_of_mine.neighbours"):
        sys.modules.pop(name, None)


def test_a_method_from_elsewhere_is_known_by_its_module_and_class(module):
    method = get_method(f"{module}:Mine")
    assert method.__name__ == "Mine"
    assert issubclass(method, PLKNN)
    assert get_method(f"{module}:Mine") is method


def test_a_method_of_ours_can_be_named_by_its_module_too():
    assert get_method("disambig.methods:PLKNN") is PLKNN


def test_a_method_from_elsewhere_is_not_in_the_catalogue(module):
    get_method(f"{module}:Mine")
    assert get_method("plknn") is PLKNN
    assert "Mine" not in {method.__name__ for method in all_methods().values()}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_module:Mine", "No module named 'no_such_module'"),
        ("methods_of_mine.nothing:Mine", "No module named 'methods_of_mine.nothing'"),
        ("methods_of_mine.neighbours:Yours", "has no attribute 'Yours'"),
        ("methods_of_mine.neighbours:", "has no attribute ''"),
        (":Mine", "Empty module name"),
        (":", "Empty module name"),
        (".neighbours:Mine", "relative import"),
    ],
)
def test_a_method_that_is_not_where_it_should_be_is_refused(module, name, reason):
    with pytest.raises(ParameterError, match=f"There is no method '{name}': .*{reason}.*Needed is"):
        get_method(name)


@pytest.mark.parametrize("name", ["Alien", "number"])
def test_something_that_is_no_method_is_refused(module, name):
    with pytest.raises(ParameterError, match=f"'{module}:{name}' is not a method. A method"):
        get_method(f"{module}:{name}")


def test_a_class_that_only_others_can_be_made_of_is_refused():
    with pytest.raises(ParameterError, match="PartialLabelClassifier' is not a method"):
        get_method("disambig.methods:PartialLabelClassifier")
