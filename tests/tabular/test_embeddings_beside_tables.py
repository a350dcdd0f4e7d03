import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from disambig import DisambigError, clean_table, fit_table, load_model
from disambig.candidates import corrupt_controlled
from disambig.tabular import audit_table, read_embeddings
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer

pytestmark = pytest.mark.filterwarnings("ignore:Each row has an embedding")

DIGITS = load_digits()
ROWS = np.random.default_rng(0).permutation(len(DIGITS.target))[:300]
NUMBERS = DIGITS.data[ROWS].astype(np.float32)
NAMES = np.array([f"digit {label}" for label in DIGITS.target[ROWS]])
SETS = corrupt_controlled(NAMES, p=0.6, r=2, random_state=0)
FRAME = pd.DataFrame(
    {
        "item": [f"n{row}" for row in range(300)],
        "size": np.random.default_rng(1).integers(0, 9, 300),
        "label": ["|".join(SETS.classes[row]) for row in SETS.to_mask()],
        "truth": NAMES,
    }
)
GIVEN = {"id": "item", "truth": "truth", "method": "plknn"}


def test_embeddings_are_features_beside_the_columns():
    model = fit_table(FRAME[:200], embeddings=NUMBERS[:200], n_folds=0, **GIVEN)

    assert model.plan.names == ["size"]
    assert model.plan.embeddings == 64
    assert model.transformer.n_features == 65
    predicted = model.predict(FRAME[200:], embeddings=NUMBERS[200:])["predicted_label"]
    assert (predicted.to_numpy() == NAMES[200:]).mean() > 0.7


def test_they_count_as_columns_of_the_same_numbers_do():
    varying = NUMBERS[:, NUMBERS.std(axis=0) > 0]
    columns = pd.DataFrame(varying).add_prefix("p").astype(float)
    spread = pd.concat([FRAME, columns], axis=1)
    options = {**GIVEN, "ignore": "size", "n_folds": 0}

    beside = fit_table(FRAME, embeddings=varying, **options).transformer
    inside = fit_table(spread, features=list(columns), **GIVEN, n_folds=0).transformer

    np.testing.assert_allclose(beside.medians, inside.medians)
    np.testing.assert_allclose(beside.scale.learned["scale_"], inside.scale.learned["scale_"])


def test_a_table_may_have_no_features_of_its_own(tmp_path):
    frame = FRAME[["item", "label"]]
    model = fit_table(frame, embeddings=NUMBERS, id="item", method="plknn", out=tmp_path / "m")

    loaded = load_model(tmp_path / "m")

    assert loaded.plan.columns == ()
    np.testing.assert_array_equal(
        loaded.predict_proba(frame, embeddings=NUMBERS),
        model.predict_proba(frame, embeddings=NUMBERS),
    )


def test_cleaning_learns_from_them_and_does_not_write_them(tmp_path):
    np.save(tmp_path / "e.npy", NUMBERS)
    mapped = read_embeddings(tmp_path / "e.npy", FRAME)
    out = tmp_path / "clean.csv"

    cleaned = clean_table(FRAME, embeddings=mapped, n_folds=2, n_jobs=2, out=out, **GIVEN)

    assert list(cleaned.columns[:4]) == list(FRAME.columns)
    assert cleaned.shape[1] == 4 + 7
    assert (cleaned["chosen_label"] == NAMES).mean() > 0.95
    alone = clean_table(FRAME, embeddings=NUMBERS, n_folds=2, n_jobs=1, **GIVEN)
    pd.testing.assert_frame_equal(cleaned, alone)


def test_an_audit_counts_them():
    audit = audit_table(FRAME, embeddings=NUMBERS, id="item", truth="truth")

    assert "2 features (1 number, 1 embedding)" in audit.summary()[0]


def test_a_model_gets_the_embeddings_that_it_needs_and_no_others():
    embedded = fit_table(FRAME, embeddings=NUMBERS, n_folds=0, **GIVEN)
    plain = fit_table(FRAME, n_folds=0, **GIVEN)

    with pytest.raises(DisambigError, match="trained with embeddings: 64 numbers for each row"):
        embedded.predict(FRAME)
    with pytest.raises(DisambigError, match="embeddings of 64 numbers .* These have 32"):
        embedded.predict(FRAME, embeddings=NUMBERS[:, :32])
    with pytest.raises(DisambigError, match="has 300 rows, and 'embeddings' has 299"):
        embedded.predict(FRAME, embeddings=NUMBERS[1:])
    with pytest.raises(DisambigError, match="trained without embeddings"):
        plain.predict(FRAME, embeddings=NUMBERS)


def test_other_embeddings_do_not_go_on_with_unfinished_work(tmp_path):
    from disambig.tabular.task import chosen_method, prepare_task
    from disambig.tabular.work_folder import work_fingerprint

    changed = NUMBERS.copy()
    changed[7, 3] += 1
    tasks = [
        prepare_task(FRAME, id="item", truth="truth", embeddings=each)
        for each in (NUMBERS, NUMBERS.copy(), changed)
    ]

    first, same, other = (work_fingerprint(task, chosen_method("plknn")) for task in tasks)

    assert first == same != other


@pytest.mark.parametrize("at_a_time", [1, 7, 30])
@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_features_do_not_depend_on_how_many_columns_are_read_at_a_time(
    monkeypatch, at_a_time, scaling
):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({f"p{n}": generator.lognormal(size=90) for n in range(23)})
    frame = frame.mask(generator.random(frame.shape) < 0.05).assign(none=[*[np.nan] * 89, 3])
    frame["rain"] = np.where(generator.random(90) < 0.5, 0, generator.random(90))
    plan, values, _ = plan_columns(frame, embeddings=generator.normal(size=(90, 20)))
    whole = FeatureTransformer.fit(values, plan, scaling=scaling)
    expected = whole.transform(values)
    assert whole.state.spikes
    assert whole.state.tails

    monkeypatch.setattr("disambig.tabular.columns.transformer._COLUMNS_AT_A_TIME", at_a_time)
    again = FeatureTransformer.fit(values, plan, scaling=scaling)

    exactly = 0 if at_a_time > 1 else 1e-12  # of one column NumPy adds up in another order
    np.testing.assert_allclose(again.transform(values), expected, rtol=exactly, atol=exactly)
    assert again.state == whole.state


def test_however_many_numbers_they_are_they_count_as_a_text_at_most():
    narrow, wide = (np.random.default_rng(0).normal(size=(300, width)) for width in (64, 484))
    for embeddings, length in ((narrow, 8), (wide, 8), (wide[:, :9], 3)):
        plan, values, _ = plan_columns(FRAME, features="size", embeddings=embeddings)
        transformer = FeatureTransformer.fit(values, plan, scaling="standard")
        features = transformer.transform(values)
        assert (features[:, 0] ** 2).mean() == pytest.approx(1)
        assert (features[:, 1:] ** 2).sum(axis=1).mean() == pytest.approx(length**2)
