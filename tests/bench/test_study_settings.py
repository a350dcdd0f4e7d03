import re

import pytest

from bench.small_studies import write_table
from disambig._core.errors import StudyError
from disambig.bench import Study
from disambig.bench.plan import make_plan
from disambig.metrics import METRICS

TOML = """
name = "in-a-file"
about = "What there is to know."
metrics = ["accuracy", "brier_score"]
reference = "PLKNN"
methods = [
    "plknn",
    { name = "ipal", title = "IPAL, tuned", grid = { n_neighbors = [5, 10] } },
    { name = "random_candidate", parameters = { scaling = "none" } },
]

[protocol]
kind = "holdout"
test_share = 0.25
repeats = 3
seed = 7
selection = "approximated_accuracy"
inner_folds = 4

[[datasets]]
name = "glass"
corruption = { p = [0.1, 0.5], r = 2 }

[[datasets]]
path = "tables/own.csv"
labels = "candidates"
separator = ";"
truth = "right"
"""


def settings(**changes):
    return {"name": "a", "datasets": ["glass"], "methods": ["plknn"], **changes}


def from_text(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return Study.from_toml(path)


def test_a_file_and_python_give_the_same_study(tmp_path):
    in_python = Study(
        name="in-a-file",
        about="What there is to know.",
        metrics=["accuracy", "brier_score"],
        reference="PLKNN",
        methods=[
            {"name": "plknn"},
            {"name": "ipal", "title": "IPAL, tuned", "grid": {"n_neighbors": [5, 10]}},
            {"name": "random_candidate", "parameters": {"scaling": "none"}},
        ],
        protocol={
            "kind": "holdout",
            "test_share": 0.25,
            "repeats": 3,
            "seed": 7,
            "selection": "approximated_accuracy",
            "inner_folds": 4,
        },
        datasets=[
            {"name": "glass", "corruption": {"p": [0.1, 0.5], "r": [2]}},
            {
                "path": str(tmp_path / "tables" / "own.csv"),
                "labels": "candidates",
                "separator": ";",
                "truth": "right",
            },
        ],
    )
    assert from_text(tmp_path, TOML).model_dump() == in_python.model_dump()


def test_what_is_left_out_has_a_default():
    study = Study(**settings())
    assert study.protocol.kind == "kfold"
    assert study.protocol.folds == 10
    assert study.protocol.repeats == 1
    assert study.protocol.seed == 0
    assert study.metrics == ["accuracy"]


def test_parameters_are_chosen_without_true_labels_by_default():
    assert Study(**settings()).protocol.selection == "covering_rate"


def test_titles_are_names_as_papers_write_them_unless_a_label_is_given():
    methods = ["plknn", "random_candidate", {"name": "ipal", "title": "ours"}]
    study = Study(**settings(methods=methods))
    titles = [method.shown_title for method in study.methods]
    assert titles == ["PLKNN", "LR on a random candidate", "ours"]


def test_the_first_method_that_is_not_a_baseline_is_the_reference():
    methods = ["oracle", "ipal", "plknn"]
    assert Study(**settings(methods=methods)).reference_title == "IPAL"
    assert Study(**settings(methods=methods, reference="PLKNN")).reference_title == "PLKNN"


def test_all_metrics_can_be_asked_for():
    assert Study(**settings(metrics=list(METRICS))).metrics == list(METRICS)


def test_one_value_of_the_corruption_stands_for_a_list_of_one():
    study = Study(**settings(datasets=[{"name": "glass", "corruption": {"p": 0.3, "r": 1}}]))
    assert study.datasets[0].corruption.p == [0.3]
    assert study.datasets[0].corruption.r == [1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["plknn", "plkn"]}, "methods[1]: There is no method called 'plkn'. Did you"),
        (
            {"methods": [{"name": "plknn", "parameters": {"n_neighbours": 3}}]},
            "methods[0]: There is no parameter of plknn called 'n_neighbours'. "
            "Did you mean 'n_neighbors'?",
        ),
        (
            {"methods": ["ipal", {"name": "plknn", "grid": {"n_neighbours": [3]}}]},
            "methods[1]: There is no parameter of plknn called 'n_neighbours'. "
            "Did you mean 'n_neighbors'?",
        ),
        (
            {"methods": [{"name": "plknn", "parameters": {"n_neighbors": "three"}}]},
            "methods[0]: 'n_neighbors' must be an integer >= 1. Got 'three' instead.",
        ),
        (
            {"methods": [{"name": "plknn", "grid": {"n_neighbors": [3, 0]}}]},
            "methods[0]: 'n_neighbors' must be an integer >= 1. Got 0 instead.",
        ),
        (
            {"methods": [{"name": "plknn", "grid": {"n_neighbors": []}}]},
            "methods[0].grid.n_neighbors: List should have at least 1 item",
        ),
        (
            {"methods": [{"name": "plknn", "grid": {"n_neighbors": 3}}]},
            "methods[0].grid.n_neighbors: Input should be a valid list. Got 3.",
        ),
        (
            {
                "methods": [
                    {
                        "name": "plknn",
                        "parameters": {"n_neighbors": 3},
                        "grid": {"n_neighbors": [3]},
                    }
                ]
            },
            "methods[0]: 'parameters' and 'grid' both have n_neighbors: keep one.",
        ),
        (
            {"methods": [{"name": "oracle", "parameters": {"scaling": None}}, "plknn"]},
            "methods[0]: 'scaling' must be",
        ),
        (
            {
                "methods": [
                    {"name": "bench.study_methods:Diligent", "parameters": {"pause": {1, 2}}}
                ]
            },
            "methods[0]: parameters must be plain values, as JSON has: ",
        ),
        (
            {
                "methods": [
                    {"name": "bench.study_methods:Diligent", "grid": {"pause": [float("nan")]}}
                ]
            },
            "methods[0]: parameters must be plain values, as JSON has: ",
        ),
        ({"methods": ["no.module:Method"]}, "methods[0]: There is no method 'no.module:Method'"),
        ({"methods": [{"title": "x"}]}, "methods[0].name: is missing. Give it."),
        ({"methods": []}, "methods: List should have at least 1 item"),
        ({"methods": ["oracle"]}, "a study needs a method besides the baselines."),
        ({"methods": ["plknn", "plknn"]}, "two methods are called PLKNN: give one a 'title'."),
        (
            {"methods": ["ipal", {"name": "plknn", "title": "IPAL"}]},
            "two methods are called IPAL: give one a 'title'.",
        ),
        ({"datasets": []}, "datasets: List should have at least 1 item"),
        ({"datasets": [{}]}, "datasets[0]: give either 'name', for a named dataset, or 'path'"),
        (
            {"datasets": ["ecoli", {"name": "glass", "path": "glass.csv"}]},
            "datasets[1]: give either 'name', for a named dataset, or 'path'",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {"p": [0.1, 1.5], "r": 1}}]},
            "datasets[0].corruption.p[1]: Input should be less than or equal to 1. Got 1.5.",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {"p": -0.1, "r": 1}}]},
            "datasets[0].corruption.p[0]: Input should be greater than or equal to 0. Got -0.1.",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {"p": 0.1, "r": 0}}]},
            "datasets[0].corruption.r[0]: Input should be greater than or equal to 1. Got 0.",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {"p": 0.1}}]},
            "datasets[0].corruption: 'p' and 'r' go together: give both, or 'miss' alone.",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {}}]},
            "datasets[0].corruption: give 'p' and 'r', 'q', 'instance' or 'miss', or leave "
            "'corruption' out.",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {"q": 0.1, "instance": 1.0}}]},
            "datasets[0].corruption: candidate sets are made in one way: give 'p' and 'r', or 'q', "
            "or 'instance'.",
        ),
        (
            {"datasets": [{"name": "glass", "imbalance": 0.5}]},
            "datasets[0].imbalance[0]: Input should be greater than or equal to 1. Got 0.5.",
        ),
        (
            {"datasets": [{"name": "glass", "corruption": {"miss": [0.1, 1.5]}}]},
            "datasets[0].corruption.miss[1]: Input should be less than or equal to 1. Got 1.5.",
        ),
        ({"protocol": {"folds": 1}}, "protocol.folds: Input should be greater than or equal to 2."),
        ({"protocol": {"folds": "many"}}, "protocol.folds: Input should be a valid integer"),
        ({"protocol": {"folds": 2.5}}, "protocol.folds: Input should be a valid integer"),
        ({"protocol": {"repeats": 0}}, "protocol.repeats: Input should be greater than or equal"),
        ({"protocol": {"seed": -1}}, "protocol.seed: Input should be greater than or equal to 0."),
        ({"protocol": {"inner_folds": 1}}, "protocol.inner_folds: Input should be greater than"),
        (
            {"protocol": {"kind": "bootstrap"}},
            "protocol.kind: Input should be 'kfold' or 'holdout'",
        ),
        (
            {"protocol": {"kind": "holdout", "test_share": 1.0}},
            "protocol.test_share: Input should be less than 1. Got 1.0.",
        ),
        (
            {"protocol": {"test_share": 0.3}},
            "protocol: 'test_share' means nothing with kind = \"kfold\": leave it out.",
        ),
        (
            {"protocol": {"kind": "holdout", "folds": 10}},
            "protocol: 'folds' means nothing with kind = \"holdout\": leave it out.",
        ),
        (
            {"protocol": {"selection": "accuracy"}},
            "protocol.selection: Input should be 'covering_rate', 'approximated_accuracy' or",
        ),
        ({"metrics": ["accuracy", "f1"]}, "metrics[1]: There is no metric called 'f1'."),
        ({"metrics": []}, "metrics: List should have at least 1 item"),
        ({"reference": "IPAL"}, "'reference' must be one of PLKNN; got 'IPAL'."),
        ({"reference": "plknn"}, "'reference' must be one of PLKNN; got 'plknn'."),
        ({"methods": ["plknn", "oracle"], "reference": "oracle"}, "'reference' must be one of PLK"),
        ({"name": "with/slash"}, "name: must be letters, digits and"),
        ({"name": ""}, "name: must be letters, digits and"),
        ({"protocol": {"by_epoch": True}}, "'by_epoch' needs methods with epochs: PLKNN has none."),
        (
            {
                "protocol": {"by_epoch": True},
                "methods": [{"name": "ncpd", "grid": {"epochs": [2, 3]}}],
            },
            "'by_epoch' needs the same epochs in every run: take 'epochs' out of the grid of NCPD.",
        ),
        (
            {
                "protocol": {"by_epoch": True},
                "methods": [{"name": "ncpd", "parameters": {"validation": 0.1}}],
            },
            "'by_epoch' watches held-out rows itself: leave out validation of NCPD.",
        ),
        (
            {"methods": [{"name": "ncpd", "parameters": {"random_state": 1}}]},
            "methods[0]: leave out 'random_state': seeds follow from that of the protocol.",
        ),
        ({"methods": [{"name": "plknn", "title": ""}]}, "methods[0].title: String should have at"),
        (
            {"methods": ["bench.study_methods:NoMethodWithoutMore"]},
            "methods[0]: NoMethodWithoutMore.__init__() missing 1 required",
        ),
        (
            {"methods": ["bench.broken_module:Method"]},
            "methods[0]: There is no method 'bench.broken",
        ),
        (
            {"methods": ["bench.study_methods:WithoutCard"]},
            "methods[0]: 'bench.study_methods:WithoutCard' is not a method.",
        ),
        ({"folds": 3}, "folds: there is no such setting. Take it out, or check its spelling."),
        ({"self": 1}, "self: there is no such setting."),
        ({"protocol": {"fold": 3}}, "protocol.fold: there is no such setting."),
        ({"methods": [{"name": "plknn", "params": {}}]}, "methods[0].params: there is no such set"),
        ({"datasets": [{"nome": "glass"}]}, "datasets[0].nome: there is no such setting."),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_by_its_place(changes, message):
    with pytest.raises(StudyError, match="^" + re.escape(message)):
        Study(**settings(**changes))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"protocol": {"folds": "3"}}, "protocol.folds"),
        ({"protocol": {"repeats": True}}, "protocol.repeats"),
        ({"protocol": {"seed": True}}, "protocol.seed"),
        ({"protocol": {"by_epoch": "yes"}, "methods": ["ncpd"]}, "protocol.by_epoch"),
        ({"datasets": [{"name": "glass", "corruption": {"p": "0.5", "r": 1}}]}, "corruption.p"),
        ({"datasets": [{"name": "glass", "corruption": {"p": 0.5, "r": True}}]}, "corruption.r"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_not_bent_into_shape(changes, place):
    with pytest.raises(StudyError, match=re.escape(place)):
        Study(**settings(**changes))


@pytest.mark.parametrize(
    "corruption", [{"p": [], "r": 1}, {"p": 0.1, "r": []}, {"miss": []}], ids=str
)
def test_corruption_without_values_would_leave_its_data_out_and_is_refused(corruption):
    with pytest.raises(StudyError, match=r"datasets\[1\].corruption.*at least 1"):
        Study(**settings(datasets=["ecoli", {"name": "glass", "corruption": corruption}]))


@pytest.mark.parametrize("option", ["labels", "separator", "truth"])
def test_columns_of_a_table_mean_nothing_to_a_named_dataset_and_are_refused(option):
    with pytest.raises(StudyError, match=rf"datasets\[0\]: .*'?{option}"):
        make_plan(Study(**settings(datasets=[{"name": "glass", option: "x"}])))


@pytest.mark.parametrize("title", ["LR on true labels", "LR on a random candidate"])
def test_a_label_cannot_be_that_of_a_baseline_that_is_added(title):
    with pytest.raises(StudyError, match=f"two methods are called {title}: give one a 'title'"):
        make_plan(Study(**settings(methods=[{"name": "plknn", "title": title}])))


def test_all_mistakes_are_reported_at_once():
    pattern = r"methods\[0\]: .*\nprotocol.folds: .*\nmetrics\[0\]: "  # a line each
    with pytest.raises(StudyError, match=pattern):
        Study(**settings(methods=["plkn"], protocol={"folds": 1}, metrics=["f1"]))


def test_epochs_can_be_asked_for_where_methods_have_them():
    quick = {"hidden": 8, "epochs": 3, "ramp_epochs": 2}
    methods = [{"name": "ncpd", "parameters": quick}, "oracle"]
    assert Study(**settings(methods=methods, protocol={"by_epoch": True})).protocol.by_epoch


def test_a_mistake_in_a_file_is_reported_with_the_file(tmp_path):
    text = TOML.replace("n_neighbors = [5, 10]", "n_neighbours = [5, 10]")
    place = re.escape(f"{tmp_path / 'study.toml'}: methods[1]: There is no parameter of ipal")
    with pytest.raises(StudyError, match=place):
        from_text(tmp_path, text)


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(StudyError, match=r"There is no file .*none.toml. Check the path."):
        Study.from_toml(tmp_path / "none.toml")


@pytest.mark.parametrize("content", [b"name = ", b'name = "a', b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_reported(tmp_path, content):
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(StudyError, match=r"study.toml does not describe a study: it is not TOML: "):
        Study.from_toml(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("x = " + "[" * 1_000, "lists and tables in it lie more than 64 deep"),
        (".".join("a" * 100_000) + " = 1", "a key in it has more than 64 parts"),
        ("# " + "x" * 1_000_000, "it has 1,000,002 bytes, and the limit is 1,000,000"),
    ],
)
def test_a_file_that_would_take_long_to_read_is_refused_with_the_limit(tmp_path, content, reason):
    with pytest.raises(StudyError, match=f"study.toml does not describe a study: {reason}"):
        from_text(tmp_path, content)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["plknn"] * 1_001}, "at most 1000 items, not 1001. Make several studies"),
        ({"datasets": ["glass"] * 1_001}, "datasets: .*at most 1000 items"),
        ({"metrics": ["accuracy"] * 1_001}, "metrics: .*at most 1000 items"),
        (
            {"datasets": [{"name": "glass", "corruption": {"p": 0.1, "r": list(range(1, 1_002))}}]},
            r"datasets\[0\].corruption.r: .*at most 1000 items",
        ),
        (
            {"methods": [{"name": "plknn", "grid": {"n_neighbors": list(range(1, 1_002))}}]},
            r"methods\[0\].grid.n_neighbors: .*at most 1000 items",
        ),
        (
            {
                "methods": [
                    {"name": "plknn", "grid": {"n_neighbors": [1] * 200, "scaling": ["none"] * 200}}
                ]
            },
            r"methods\[0\]: 'grid' has 40,000 combinations, and the limit is 10,000",
        ),
    ],
)
def test_lists_that_are_too_long_are_refused_with_the_key_and_the_limit(changes, message):
    with pytest.raises(StudyError, match=message):
        Study(**settings(**changes))


def test_of_very_many_wrong_settings_the_first_are_named():
    with pytest.raises(StudyError) as caught:
        Study(**settings(), **{f"x{number}": 1 for number in range(1_000)})
    assert str(caught.value).splitlines()[0].startswith("x0: there is no such setting")
    assert str(caught.value).splitlines()[-1] == "990 more settings are wrong."


def test_a_folder_is_no_file_of_a_study(tmp_path):
    with pytest.raises(StudyError, match=re.escape(str(tmp_path))):
        Study.from_toml(tmp_path)


def test_paths_of_data_are_relative_to_the_file(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    study = from_text(tmp_path, TOML)
    assert study.datasets[1].path == str(tmp_path / "tables" / "own.csv")


def test_absolute_paths_of_data_stay(tmp_path):
    path = write_table(tmp_path / "data" / "own.csv")
    text = TOML.replace("tables/own.csv", str(path))
    (tmp_path / "studies").mkdir()
    assert from_text(tmp_path / "studies", text).datasets[1].path == str(path)


def test_a_study_cannot_be_changed_under_the_feet_of_its_runner():
    study = Study(**settings())
    with pytest.raises(ValueError, match="frozen"):
        study.name = "b"
