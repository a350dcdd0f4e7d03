import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler
from torch import nn

from disambig import NCPDClassifier
from disambig._core.errors import ModelFileError, ParameterError
from methods.ncpd import examples as ncpd
from methods.ncpd.examples import NEW_X, X, Y, assert_same_bits, description_in, rewrite
from methods.ncpd_plus.plus_examples import EVERY_PART, load_plus, quick_mix, quick_single

NO_FIT = "is not a model that disambig can read: what it says does not fit together"


@pytest.fixture
def mix_file(tmp_path, mix):
    mix.save(tmp_path / "mix")
    return tmp_path / "mix"


@pytest.fixture
def single_file(tmp_path, single):
    single.save(tmp_path / "single")
    return tmp_path / "single"


# What comes back ---------------------------------------------------------------------------------


def test_a_mix_comes_back_with_its_bits(mix_file, mix):
    loaded = load_plus(mix_file)
    assert_same_bits(loaded, mix)
    np.testing.assert_array_equal(loaded.predict_proba(NEW_X), mix.predict_proba(NEW_X))
    assert dict(loaded.selection_) == dict(mix.selection_)
    assert str(loaded.selection_) == str(mix.selection_)
    assert list(loaded.members_) == list(mix.members_)
    assert loaded.get_params() == mix.get_params()


def test_members_of_a_loaded_mix_predict_alone(mix_file, mix):
    for name, member in load_plus(mix_file).members_.items():
        expected = mix.members_[name]
        np.testing.assert_array_equal(member._predict_proba(NEW_X), expected.predict_proba(NEW_X))
        np.testing.assert_equal(member.history_.to_dict(), expected.history_.to_dict())


@pytest.mark.parametrize(
    "parameters",
    [
        EVERY_PART,
        {},
        {"second_view": "none", "scaling": "quantile"},
        {"second_view": "half", "scaling": "half", "n_networks": 3},
    ],
    ids=str,
)
def test_one_configuration_comes_back_with_its_bits(tmp_path, parameters):
    fitted = quick_single(**parameters).fit(X, Y)
    fitted.save(tmp_path / "model")
    loaded = load_plus(tmp_path / "model")
    assert_same_bits(loaded, fitted)
    assert loaded.get_params() == fitted.get_params()


def test_a_loaded_mix_can_be_saved_and_fitted_again(mix_file, mix, tmp_path):
    load_plus(mix_file).save(tmp_path / "again")
    assert_same_bits(load_plus(tmp_path / "again"), mix)
    assert_same_bits(load_plus(mix_file).fit(X, Y), mix)


def test_a_file_says_what_was_fitted_and_not_what_was_set_afterwards(tmp_path, mix):
    fitted = quick_mix().fit(X, Y)
    fitted.set_params(select="none", hidden=8).save(tmp_path / "model")
    assert_same_bits(load_plus(tmp_path / "model"), mix)


def test_a_mix_of_ones_own_networks_needs_them_again(tmp_path):
    def factory(n_features, n_classes):
        return nn.Sequential(nn.Linear(n_features, 6), nn.ReLU(), nn.Linear(6, n_classes))

    fitted = quick_mix(network=factory, epochs=6).fit(X, Y)
    fitted.save(tmp_path / "model")
    with pytest.raises(ParameterError, match="holds networks made by your own code"):
        load_plus(tmp_path / "model")
    assert_same_bits(load_plus(tmp_path / "model", network=factory), fitted)


def test_a_view_of_ones_own_making_is_not_saved(tmp_path):
    fitted = quick_single(second_view=MinMaxScaler(), epochs=3).fit(X, Y)
    with pytest.raises(ParameterError, match="Got MinMaxScaler, which is code"):
        fitted.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# What is refused ---------------------------------------------------------------------------------


def test_models_of_ncpd_and_of_ncpd_plus_are_not_confused(tmp_path, mix_file, single_file):
    ncpd.quick().fit(X, Y).save(tmp_path / "ncpd")
    with pytest.raises(ModelFileError, match="holds a model of the method 'ncpd'"):
        load_plus(tmp_path / "ncpd")
    for path in (mix_file, single_file):
        with pytest.raises(ModelFileError, match="holds a model of the method 'ncpd_plus'"):
            NCPDClassifier.load(path)


def test_truncated_files_are_refused(mix_file):
    content = mix_file.read_bytes()
    for length in np.linspace(0, len(content) - 1, 20, dtype=int):
        mix_file.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="it is damaged"):
            load_plus(mix_file)


def first_of(entry):
    return next(iter(entry))


def set_all(entry, name, value):
    for own in entry.values():
        own[name] = value


def without_member(description):
    del description["members"][first_of(description["members"])]


def without_score(description):
    del description["selection"][first_of(description["members"])]


def another_name(description):
    name = first_of(description["members"])
    description["members"]["other"] = description["members"].pop(name)


def weight_of_first(value):
    def change(description):
        description["selection"][first_of(description["members"])]["weight"] = value

    return change


def weight_moved(description):
    """All of the weight of one member goes to another, and the member stays."""
    first, second, *_ = (description["selection"][name] for name in description["members"])
    first["weight"], second["weight"] = 0.0, first["weight"] + second["weight"]


def member_with(name, value):
    def change(description):
        own = description["members"][first_of(description["members"])]["parameters"]
        own[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda d: set_all(d["selection"], "weight", 0.9),
        lambda d: set_all(d["selection"], "weight", 0.0),
        lambda d: set_all(d["selection"], "weight", -1.0),
        lambda d: set_all(d["selection"], "weight", float("nan")),
        lambda d: set_all(d["selection"], "weight", None),
        lambda d: set_all(d["selection"], "weight", "heavy"),
        lambda d: set_all(d["selection"], "colour", "red"),
        lambda d: set_all(d["selection"], "covering_rate", "high"),
        lambda d: set_all(d["selection"], "approximated_accuracy", [0.5]),
        lambda d: set_all(d["selection"], "log_mass", 10**400),
        lambda d: d["history"]["loss"].__setitem__(0, 10**400),
        lambda d: d["classes"]["names"].__setitem__(0, 10**30),
        member_with("dropout", 10**400),
        lambda d: d.update(selection={}),
        lambda d: d.update(selection=[1, 2]),
        lambda d: d.update(members={}),
        lambda d: d.update(members=None),
        lambda d: d.pop("selection"),
        lambda d: d.pop("members"),
        lambda d: d.pop("history"),
        lambda d: d.pop("classes"),
        lambda d: d.update(history={"loss": [1.0], "T": [1.0, 2.0]}),
        lambda d: d.update(n_features=5),
        lambda d: d.update(classes={"type": "<i8", "names": [0, 1]}),
        lambda d: d["parameters"].update(epochs="many"),
        lambda d: d["parameters"].update(swap_noise=0.5),
        lambda d: d["parameters"].update(select="none"),
        lambda d: d["parameters"].update(select="worst"),
        without_member,
        without_score,
        another_name,
        weight_moved,
        weight_of_first(0.0),
        weight_of_first(float("inf")),
        member_with("select", "auto"),
        member_with("hidden", 17),
        member_with("hidden", 10**13),
        member_with("n_networks", 3),
        member_with("scaling", "standardised"),
        member_with("swap_noise", 2.0),
    ],
)
def test_a_mix_that_contradicts_itself_is_refused(mix_file, change):
    rewrite(mix_file, lambda _, description: change(description))
    with pytest.raises(ModelFileError, match=NO_FIT):
        load_plus(mix_file)


def test_a_mix_within_a_mix_is_refused(mix_file):
    def nest(tensors, description):
        name = first_of(description["members"])
        entries = ("parameters", "history", "members", "selection")
        nested = {name: {entry: description[entry] for entry in entries}}
        description["members"] = {**description["members"], **nested}
        tensors |= {f"{name}.{part}": value.clone() for part, value in tensors.items()}

    rewrite(mix_file, nest)
    with pytest.raises(ModelFileError, match="a member of a mix cannot be a mix"):
        load_plus(mix_file)


@pytest.mark.parametrize(
    "parameters",
    [
        {"second_view": None},
        {"second_view": "half"},
        {"scaling": "quantile"},
        {"second_view": "max"},
        {"select": "auto"},
        {"prior_correction": -1},
        {"guard": "yes"},
    ],
    ids=str,
)
def test_a_configuration_that_contradicts_itself_is_refused(single_file, parameters):
    rewrite(single_file, lambda _, description: description["parameters"].update(parameters))
    with pytest.raises(ModelFileError, match=NO_FIT):
        load_plus(single_file)


@pytest.mark.parametrize("kind", ["mix", "single"])
def test_a_file_that_lacks_any_of_its_numbers_is_refused(request, kind):
    path = request.getfixturevalue(f"{kind}_file")
    content = path.read_bytes()
    names = []
    rewrite(path, lambda tensors, _: names.extend(tensors))
    assert len(names) > 8
    for name in names:
        path.write_bytes(content)
        rewrite(path, lambda tensors, _, name=name: tensors.pop(name))
        with pytest.raises(ModelFileError, match=NO_FIT):
            load_plus(path)


def test_a_file_says_in_plain_text_what_it_is(mix_file, mix):
    description = description_in(mix_file)
    assert (description["kind"], description["method"]) == ("model", "ncpd_plus")
    assert description["parameters"]["select"] == "auto"
    assert set(description["members"]) == set(mix.members_)
    assert set(description["selection"]) == set(mix.selection_)
