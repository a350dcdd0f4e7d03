"""A share of the nasty fits, and faults of a method that they notice."""

import json

import pytest

from tools.faults import run_script, run_share


def test_no_fit_of_a_share_fails(tmp_path):
    page, tried = run_share("fits", 0.015, tmp_path)
    assert tried == 15
    assert "fitted" in page


BROKEN = """
import json, sys
from pathlib import Path
import fits
import numpy as np
import torch  # here, so that no child takes its seconds for it
from scipy.sparse import csr_array
from disambig.methods import PLKNN

good_fit, good_predict, count = PLKNN._fit, PLKNN._predict_proba, iter(range(1000))

def spoilt(change):
    def predict(self, X):
        return change(good_predict(self, X))
    return predict

def fit(change):
    def changed(self, X, candidates):
        change(X)
        return good_fit(self, X, candidates)
    return changed

def loop(X):
    while True:
        pass

def fail(X):
    raise KeyError("not foreseen")

def draw(X):
    np.random.random()

def overwrite(X):
    X[0, 0] = 7

def refuse(X):
    raise ValueError("this should have been fitted")

def outside(self, X, candidates):
    confidence = good_fit(self, X, candidates).toarray()
    confidence[:] = 1 / 3
    return csr_array(confidence)

harms = {
    "nothing": (good_fit, good_predict),
    "NaN": (good_fit, spoilt(lambda p: p * np.nan)),
    "sum": (good_fit, spoilt(lambda p: p / 2)),
    "seed": (good_fit, spoilt(lambda p: np.roll(p, next(count), axis=1))),
    "outside": (outside, good_predict),
    "error": (fit(fail), good_predict),
    "state": (fit(draw), good_predict),
    "input": (fit(overwrite), good_predict),
    "refusal": (fit(refuse), good_predict),
    "hang": (fit(loop), good_predict),
}
outcomes = {}
for name, (PLKNN._fit, PLKNN._predict_proba) in harms.items():
    fits.SECONDS = 1 if name == "hang" else 60
    outcome = fits.try_fit("plknn", "plain", "plain", {}, 0, 1, Path(sys.argv[1]))
    outcomes[name] = [outcome.ended, outcome.failure]
try:
    fits.check_refusal(ValueError("Input contains infinity, it says"), np.ones((2, 2)), {None})
except fits.FaultError as error:
    outcomes["untrue"] = ["failed", str(error)]
print(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    ended = run_script(BROKEN, tmp_path_factory.mktemp("models"))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_good_method_survives(outcomes):
    assert outcomes["nothing"] == ["fitted", ""]


@pytest.mark.parametrize(
    ("harm", "failure"),
    [
        ("NaN", "probabilities that are not finite"),
        ("sum", "probabilities sum to 0."),
        ("seed", "other probabilities"),
        ("outside", "a confidence outside the candidate set"),
        ("error", "KeyError"),
        ("state", "global random states were changed"),
        ("input", "inputs or global random states were changed"),
        ("refusal", "refused: this should have been fitted"),
        ("hang", "too long"),
        ("untrue", "not true of the features"),
    ],
)
def test_a_method_that_does_harm_is_counted_as_failed(outcomes, harm, failure):
    assert failure in outcomes[harm][1]
