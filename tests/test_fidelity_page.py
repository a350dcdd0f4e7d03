"""The page of network methods has all that their classes, cards and rules say."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from disambig.methods import NetworkClassifier, all_methods

ROOT = Path(__file__).resolve().parent.parent
METHODS = [method for method in all_methods().values() if issubclass(method, NetworkClassifier)]


@pytest.fixture
def fidelity(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    import fidelity

    return fidelity


@pytest.fixture
def sections(fidelity):
    """The text of every section, by its heading."""
    page = fidelity.page_text((ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8"))
    parts = re.split(r"^## (.*)$", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_network_method_has_a_section_in_the_order_of_years(sections):
    assert sorted(sections) == sorted(method.__name__ for method in METHODS)
    years = {method.__name__: method.card.year or 9999 for method in METHODS}
    assert [years[name] for name in sections] == sorted(years.values())


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.card.name)
def test_a_section_has_paper_equations_code_and_departures(method, sections):
    section, card = sections[method.__name__], method.card
    for text in (card.title, card.paper, card.year, *card.deviations):
        assert str(text or "") in section
    equations = re.findall(r"^ *\.\. math::.*$", inspect.getdoc(method), re.M)
    assert all(equation.strip() in section for equation in equations)
    assert not re.search(r"Examples|described\s+at\s+``NetworkClassifier``", section)
    rule = type(method()._make_rule())
    if "The rule is that of" in section:
        return
    for name in ("targets", "loss", "after_step", "between_epochs"):
        written = vars(rule).get(name)
        if written is not None:
            last = inspect.getsource(written).splitlines()[-1]
            assert f"def {name}(" in section
            assert last in section


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.card.name)
def test_every_formula_can_be_set(method, sections):
    mathml = importlib.import_module("mathml")
    section = sections[method.__name__]
    blocks = re.findall(r"^\.\. math::(.*(?:\n {4}.*)*)", section, re.M)
    formulas = [*blocks, *re.findall(r":math:`([^`]*)`", section)]
    assert formulas or "The rule is that of" in section
    for formula in formulas:
        # A command that is not known stays as it is.
        assert "\\" not in mathml._converted(" ".join(formula.split()), "inline")


def test_functions_are_shown_that_only_other_functions_call(sections):
    # PaPi asks for one of a module of its own, which calls another one there.
    assert "def is_class(" in sections["PaPi"]


def test_a_rule_that_several_share_is_shown_once(sections):
    shared = [name for name, text in sections.items() if "The rule is that of" in text]
    assert {"ABSMAE", "NCPDPlusClassifier"} <= set(shared)
    assert "class AverageBoundedLoss(Rule):" in sections["ABSGCE"]


SOURCE = '''
from disambig.engine.device import choose_device
from disambig.methods.deep.cc import CandidateLikelihood

def helper(prior):
    """Return it."""
    return doubled(prior)

def doubled(prior):
    return 2 * prior

def never_called(prior):
    return choose_device(prior)

class Inherits(CandidateLikelihood):
    """A rule of which half is inherited."""

    def __init__(self):
        self.parameter = 1

    def begin_epoch(self, epoch):
        """Choose."""
        choose_device("cpu")
        return helper(epoch)
'''


def test_code_has_what_is_inherited_or_called_and_no_more(fidelity, tmp_path, monkeypatch):
    (tmp_path / "mine" / "methods").mkdir(parents=True)
    (tmp_path / "mine" / "methods" / "rule.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    code = fidelity.code_of(importlib.import_module("mine.methods.rule").Inherits)
    definitions = re.findall(r"^(?:class|def) (\w+)", code, re.M)
    assert definitions == ["helper", "doubled", "CandidateLikelihood", "Inherits"]
    assert "return helper(epoch)" in code
    assert not re.search(r'__init__|"""', code)


def test_functions_that_a_rule_calls_come_before_it(sections):
    section = sections["DIRK"]
    assert section.index("def rectified(") < section.index("class ReliableTeacher(")


def test_a_page_without_the_block_stays_as_it_is(fidelity):
    text = "# A page\n\n```python\nfidelity = 1\n```\n"
    assert fidelity.page_text(text) == text
