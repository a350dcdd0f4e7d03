import subprocess
import sys

import pytest

from disambig._core.errors import UnknownNameError
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
        "print('disambig.methods.reference.oracle' in sys.modules)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == "False"
