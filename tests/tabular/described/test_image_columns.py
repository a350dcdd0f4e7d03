import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from image_tables import draw, write_signs

from disambig import DisambigError, clean_table, fit_table, load_model
from disambig.tabular import DescribedColumns, FitListener, audit_table
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import column_values
from disambig.tabular.described.image_descriptor import BuiltInDescriptor

pytestmark = pytest.mark.filterwarnings("ignore:Read 'photo' as images")


@pytest.fixture(scope="module")
def signs(tmp_path_factory):
    """A folder with images, and their table."""
    folder = tmp_path_factory.mktemp("signs")
    return folder, write_signs(folder)


def fit(frame, folder, **options):
    return fit_table(
        frame,
        described=DescribedColumns(folder=folder),
        ignore="truth",
        method="plknn",
        n_folds=0,
        **options,
    )


def test_a_column_of_image_files_is_learned_from(signs, tmp_path):
    folder, frame = signs
    model = fit(frame, folder)
    new = write_signs(tmp_path, n_rows=15, first=1000)

    predicted = model.predict(new, described=DescribedColumns(folder=tmp_path))

    assert (predicted["predicted_label"] == new["truth"]).mean() > 0.8
    (column,) = model.plan.columns
    assert (column.kind, column.described_by.width) == ("image", BuiltInDescriptor.width)


def test_values_are_the_numbers_of_the_files_in_single_precision(signs):
    folder, frame = signs
    described = DescribedColumns(folder=folder)
    frame = frame.assign(size=range(5, 65)).iloc[[3, 0, 3]]

    plan, values, notices = plan_columns(frame, reserved=["label", "truth"], described=described)

    contents = [(folder / cell).read_bytes() for cell in frame["photo"]]
    expected = np.array(BuiltInDescriptor().describe(contents))
    names = [f"photo ({number})" for number in range(1, BuiltInDescriptor.width + 1)]
    np.testing.assert_array_equal(values[names].to_numpy(), expected)
    assert (values[names].dtypes == np.float32).all()
    assert values["size"].tolist() == frame["size"].tolist()
    assert any("484 numbers (--image-model built-in)" in notice for notice in notices)
    pd.testing.assert_frame_equal(column_values(frame, plan, described), values)


def test_a_saved_model_predicts_the_same(signs, tmp_path):
    folder, frame = signs
    described = DescribedColumns(folder=folder)
    model = fit(frame, folder, out=tmp_path / "model")

    loaded = load_model(tmp_path / "model")

    expected = model.predict_proba(frame, described=described)
    np.testing.assert_array_equal(loaded.predict_proba(frame, described=described), expected)


def test_a_model_of_another_descriptor_is_not_fed_with_this_one(signs, monkeypatch):
    folder, frame = signs
    model = fit(frame, folder)
    monkeypatch.setattr(BuiltInDescriptor, "fingerprint", "2")

    with pytest.raises(DisambigError, match="must be described as in training"):
        model.predict(frame, described=DescribedColumns(folder=folder))


def test_missing_and_broken_files_are_gaps_and_named(signs, tmp_path):
    folder, frame = signs
    (folder / "broken.png").write_bytes((folder / "signs" / "0.png").read_bytes()[:200])
    frame = frame.copy()
    frame.loc[1, "photo"] = None
    frame.loc[4, "photo"] = "gone.png"
    frame.loc[7, "photo"] = "broken.png"

    with pytest.warns(UserWarning, match="2 of 59 images of column 'photo' cannot") as caught:
        _, values, _ = plan_columns(
            frame, reserved=["label", "truth"], described=DescribedColumns(folder=folder)
        )

    message = str(caught[0].message)
    assert "'gone.png' (row 5) is not there" in message
    assert "'broken.png' (row 8) is damaged" in message
    assert np.flatnonzero(values.isna().any(axis=1)).tolist() == [1, 4, 7]
    assert values.iloc[[1, 4, 7]].isna().all(axis=None)


def test_a_column_that_mostly_cannot_be_read_is_refused(signs):
    folder, frame = signs
    frame = frame.assign(photo=[*frame["photo"][:25], *(f"gone-{n}.png" for n in range(35))])

    with pytest.raises(DisambigError, match=r"35 of 60 images .* and 25 more.*empty.*--ignore"):
        fit(frame, folder)


def test_a_column_of_names_without_files_is_left_out_and_said_to_be(signs, tmp_path):
    _, frame = signs
    frame = frame.assign(size=np.arange(60) % 7)

    with pytest.warns(UserWarning, match="'photo' end like image files, but those that were"):
        model = fit(frame, tmp_path)
    assert model.plan.names == ["size"]

    frame["photo"] = "https://example.org/" + frame["photo"]
    with pytest.warns(UserWarning, match="'photo' are addresses of images, and nothing is fetched"):
        model = fit(frame, tmp_path)
    assert model.plan.names == ["size"]


@pytest.mark.parametrize(
    "others", [["-"], ["to do", "signs/1.heic"], [f"{n}.png" for n in range(25)]]
)
def test_a_column_of_images_is_found_where_some_cells_are_something_else(signs, others):
    folder, frame = signs
    frame = frame.assign(photo=[*others, *frame["photo"][len(others) :]])

    with pytest.warns(UserWarning, match=f"{len(others)} of 60 images of column 'photo' cannot"):
        model = fit(frame, folder)

    assert model.plan.by_kind() == {"image": ["photo"]}


def test_the_file_may_name_the_row_and_be_a_feature(signs):
    folder, frame = signs
    described = DescribedColumns(images="photo", folder=folder)

    model = fit_table(
        frame, described=described, id="photo", ignore="truth", method="plknn", n_folds=0
    )

    assert model.plan.names == ["photo"]


def test_an_image_column_must_be_one_of_paths(signs):
    folder, frame = signs
    frame = frame.assign(size=np.arange(60.0))

    with pytest.raises(DisambigError, match="'size' must hold paths of image files"):
        plan_columns(frame, described=DescribedColumns(images="size", folder=folder))
    with pytest.raises(DisambigError, match="no column 'phoot', which should be an image"):
        plan_columns(frame, described=DescribedColumns(images="phoot", folder=folder))
    with pytest.raises(DisambigError, match="An image must be a feature. 'label' is not"):
        fit_table(frame, described=DescribedColumns(images="label", folder=folder))


def test_an_image_column_is_nothing_else(signs):
    folder, frame = signs
    described = DescribedColumns(images="photo", folder=folder)

    for other in ("text", "categories"):
        with pytest.raises(DisambigError, match="'photo' was chosen as more than one of these"):
            plan_columns(frame, described=described, **{other: "photo"})


def test_a_model_that_would_describe_nothing_is_refused(signs, tmp_path):
    _, frame = signs
    frame = frame.assign(size=np.arange(60) % 7)

    for kind in ("image", "text"):
        described = DescribedColumns(folder=tmp_path, **{f"{kind}_model": "built-in"})
        with pytest.raises(
            DisambigError, match=f"nothing for --{kind}-model .*Name one by --{kind}"
        ):
            plan_columns(frame, reserved=["label", "truth"], described=described)


def test_without_pillow_the_column_and_a_way_out_are_named(signs, monkeypatch):
    folder, frame = signs
    monkeypatch.setitem(sys.modules, "PIL.Image", None)

    with pytest.raises(
        DisambigError, match=r"^Column 'photo' .*disambig\[images\].*--ignore photo"
    ):
        fit(frame, folder)


def test_numbers_are_computed_once_for_the_same_content(signs, tmp_path, monkeypatch):
    folder, frame = signs
    seen = []
    describe = BuiltInDescriptor.describe
    monkeypatch.setattr(
        BuiltInDescriptor,
        "describe",
        lambda self, contents: seen.extend(contents) or describe(self, contents),
    )
    described = DescribedColumns(folder=folder, cache=tmp_path / "kept")
    frame = frame.assign(photo=[*frame["photo"][:-1], frame["photo"][0]])

    _, first, _ = plan_columns(frame, reserved=["label", "truth"], described=described)
    assert len(seen) == 59
    copied = tmp_path / "copied"
    (copied / "signs").mkdir(parents=True)
    for path in (folder / "signs").iterdir():
        (copied / "signs" / path.name).write_bytes(path.read_bytes())
    draw("disc", seed=-1 % 1000).save(copied / "signs" / "3.png")
    moved = DescribedColumns(folder=copied, cache=tmp_path / "kept")
    _, second, _ = plan_columns(frame, reserved=["label", "truth"], described=moved)

    assert len(seen) == 60  # the one that has changed
    same = np.arange(60) != 3
    pd.testing.assert_frame_equal(first[same], second[same])
    assert not first.iloc[3].equals(second.iloc[3])


def test_an_interrupted_run_keeps_what_it_has_described(signs, tmp_path):
    folder, frame = signs
    described = DescribedColumns(folder=folder, cache=tmp_path / "kept")

    class Stop(FitListener):
        def on_described(self, column, n_done, n_cells):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_columns(frame, reserved=["label", "truth"], described=described, listener=Stop())

    assert any((tmp_path / "kept").iterdir())


def test_a_listener_hears_how_far_it_is(signs):
    folder, frame = signs
    heard = []

    class Ear(FitListener):
        def on_described(self, column, n_done, n_cells):
            heard.append((column, n_done, n_cells))

    fit(frame, folder, listener=Ear())

    assert heard == [("photo", 32, 60), ("photo", 60, 60)]


def test_large_files_are_not_read_all_at_once(tmp_path):
    frame = write_signs(tmp_path, n_rows=6)
    for photo in frame["photo"]:
        with (tmp_path / photo).open("ab") as file:
            file.write(bytes(25_000_000))  # behind the end of an image anything may follow
    heard = []

    class Ear(FitListener):
        def on_described(self, column, n_done, n_cells):
            heard.append(n_done)

    fit(frame, tmp_path, listener=Ear())

    assert heard == [3, 6]


def test_audit_and_clean_read_images_too(signs):
    folder, frame = signs
    described = DescribedColumns(folder=folder)

    audit = audit_table(frame, truth="truth", described=described)
    cleaned = clean_table(frame, truth="truth", described=described, method="plknn", n_folds=2)

    assert audit.features == {"image": ("photo",)}
    assert "1 image" in audit.summary()[0]
    assert list(cleaned.columns[:3]) == ["photo", "label", "truth"]
    assert (cleaned["chosen_label"] == frame["truth"]).mean() > 0.9


def test_nothing_is_warned_of_where_all_can_be_read(signs):
    folder, frame = signs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan_columns(frame, reserved=["label", "truth"], described=DescribedColumns(folder=folder))
