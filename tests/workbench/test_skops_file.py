import io
import pickle
import struct
import zipfile

import joblib
import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from disambig import PLKNN
from disambig._core.errors import ModelFileError, ParameterError
from disambig.methods import AverageClassifier
from disambig.methods.scaling import FeatureScaler
from disambig.workbench.model.skops_file import one_line, read_skops, write_skops
from workbench.model_folders import (
    CANDIDATES,
    attributes_of,
    fitted,
    members_of,
    nodes_in,
    value_node,
    write_members,
)

MODEL = fitted("plknn")
NO_PLACE = "cannot be read: it names .* which has no place in a model.* write it again"


@pytest.fixture
def features(tmp_path):
    write_skops(MODEL.transformer, tmp_path / "features.skops")
    return tmp_path / "features.skops"


@pytest.fixture
def method(tmp_path):
    write_skops(MODEL.method, tmp_path / "method.skops", finite=True)
    return tmp_path / "method.skops"


def read_features(path):
    return read_skops(path, ColumnTransformer)


def node(loader, name, number=999_999_990, **entries):
    module, _, own = name.rpartition(".")
    return {
        "__class__": own, "__module__": module, "__loader__": loader, "__id__": number, **entries
    }  # fmt: skip


def sequence(*values, loader="TupleNode", name="builtins.tuple", number=999_999_980):
    return node(loader, name, number, content=list(values))


def keyed(key_type, content, number=999_999_970, name="builtins.dict"):
    types = sequence(key_type, loader="ListNode", name="builtins.list", number=number + 1)
    return node("DictNode", name, number, content=content, key_types=types)


SYSTEM = node("FunctionNode", "os.system", 999_999_960)
COMMAND = value_node("touch canary")
SCALER = node(
    "ObjectNode",
    "disambig.methods.scaling.FeatureScaler",
    content=keyed(node("TypeNode", "builtins.str", 999_999_950), {"kind": value_node("half")}),
)
FUNCTION_TRANSFORMER = node(
    "ObjectNode",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    content=keyed(node("TypeNode", "builtins.str", 999_999_950), {"func": SYSTEM}),
)
PARTIAL = node(
    "PartialNode",
    "functools.partial",
    content={
        "func": SYSTEM,
        "args": sequence(COMMAND),
        "kwds": keyed(node("TypeNode", "builtins.str", 1), {}),
        "namespace": value_node(None),
    },
)
SYSTEM_AS_KEY = keyed(node("TypeNode", "posix.system", 999_999_950), {"touch canary": COMMAND})
HOSTILE = {
    "function": SYSTEM,
    "eval": node("FunctionNode", "builtins.eval"),
    "eval as a type": node("TypeNode", "builtins.eval"),
    "map as a type": node("TypeNode", "builtins.map"),
    "ufunc": node("FunctionNode", "numpy.add"),
    "partial": PARTIAL,
    "type of a key": SYSTEM_AS_KEY,
    "method of a trusted type": node(
        "MethodNode",
        SCALER["__module__"] + ".FeatureScaler",
        content={"func": "fit", "obj": SCALER},
    ),
    "methodcaller": node("OperatorFuncNode", "operator.methodcaller", attrs=sequence(COMMAND)),
    "attrgetter": node("OperatorFuncNode", "operator.attrgetter", attrs=sequence(COMMAND)),
    "trusted type with arguments": node(
        "ConstructorFromReduceNode",
        SCALER["__module__"] + ".FeatureScaler",
        content=sequence(COMMAND),
    ),
    "constructor": node("ConstructorFromReduceNode", "os.system", content=sequence(COMMAND)),
    "loss": node("LossNode", "os.system", content=COMMAND, __reduce__={"args": sequence(COMMAND)}),
    "tree": node(
        "TreeNode", "sklearn.tree._tree.Tree", content=COMMAND, __reduce__={"args": sequence()}
    ),
    "index": node("ObjectNode", "sklearn.neighbors._kd_tree.KDTree", content=sequence()),
    "estimator that runs a function": FUNCTION_TRANSFORMER,
    "trusted type as a dictionary": keyed(
        node("TypeNode", "builtins.str", 1), {}, name=SCALER["__module__"] + ".FeatureScaler"
    ),
    "call as a list": sequence(COMMAND, loader="ListNode", name="subprocess.Popen"),
    "call as a tuple": sequence(COMMAND, name="subprocess.Popen"),
    "call as a set": sequence(COMMAND, loader="SetNode", name="builtins.set"),
    "call as an array": node("NdArrayNode", "os.system", type="numpy", file="1.npy"),
    "generator": node("RandomGeneratorNode", "numpy.random._generator.Generator", content={}),
    "state": node("RandomStateNode", "numpy.random.mtrand.RandomState", content=COMMAND),
    "bytes": node("BytesNode", "builtins.bytes", file="schema.json"),
    "cached": node("CachedNode", "builtins.dict"),
    "other loader": node("NoNode", "builtins.dict"),
    "other estimator": node("ObjectNode", "sklearn.svm._classes.SVC", content=sequence()),
    "other method": node("ObjectNode", "disambig.methods.classical.plknn.PLKNN", content=COMMAND),
}


def plant(path, planted):
    schema, members = members_of(path)
    attributes_of(schema)["remainder"] = planted
    write_members(path, schema, members)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_could_run_or_is_not_listed_is_refused_and_does_not_run(
    features, name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    plant(features, HOSTILE[name])
    with pytest.raises(ModelFileError, match=NO_PLACE):
        read_features(features)
    assert not (tmp_path / "canary").exists()


def test_the_canary_sings_where_skops_is_told_to_trust_what_the_file_names(
    features, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    plant(features, SYSTEM_AS_KEY)
    skops.io.load(features, trusted=skops.io.get_untrusted_types(file=features))
    assert (tmp_path / "canary").exists()


def test_skops_alone_would_take_an_estimator_of_scikit_learn_that_nobody_listed(tmp_path):
    scaler = FeatureScaler()
    scaler.kind = FunctionTransformer()
    skops.io.dump(scaler, tmp_path / "file")
    trusted = ["disambig.methods.scaling.FeatureScaler"]
    assert isinstance(skops.io.load(tmp_path / "file", trusted=trusted).kind, FunctionTransformer)
    with pytest.raises(ModelFileError, match=NO_PLACE):
        read_skops(tmp_path / "file", FeatureScaler)


def test_an_object_comes_back_as_it_was(features, method):
    found = read_features(features)
    assert type(found) is ColumnTransformer
    assert repr(found) == repr(MODEL.transformer)
    kept = read_skops(method, PLKNN, finite=True)
    np.testing.assert_array_equal(kept._rows, MODEL.method._rows)
    assert kept.classes_.tolist() == MODEL.method.classes_.tolist()


def test_no_index_of_rows_is_in_a_file(method):
    schema, _ = members_of(method)
    names = {f"{found['__module__']}.{found['__class__']}" for found in nodes_in(schema)}
    assert not any("neighbors" in name or "metrics" in name for name in names)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file '.*gone'"):
        read_features(tmp_path / "gone")


@pytest.mark.parametrize("content", [b"", b"PK", b"nothing of the kind", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_refused(features, content):
    features.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"features.skops' cannot be read: .* damaged"):
        read_features(features)


class Trap:
    def __reduce__(self):
        return pytest.fail, ("the pickle was opened",)


def test_pickles_are_not_opened(features):
    features.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError, match="File is not a zip file"):
        read_features(features)
    joblib.dump(Trap(), features)
    with pytest.raises(ModelFileError, match="File is not a zip file"):
        read_features(features)


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Trap()),
        npy(np.array([Trap()], dtype=object), allow_pickle=True),
        npy(np.zeros(3, dtype=[("a", "O"), ("b", "f8")]), allow_pickle=True),
        npy(np.zeros(3, dtype=[("a", "f8"), ("b", "f8")])),
        npy(np.zeros(3, dtype="M8[s]")),
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"more",
        npy(np.zeros(3)).replace(b"(3,)", b"(9,)"),
        npy(np.zeros(3)).replace(b"(3,)", b"-3, "),
        npy(np.zeros((3, 1))).replace(b"(3, 1), }          ", b"(99999999999999, 1)}"),
        npy(np.zeros(3)).replace(b"\x01\x00", b"\x09\x00", 1),
        b"",
    ],
    ids=range(12),
)
def test_arrays_that_hide_something_or_are_not_as_long_as_they_say_are_refused(method, content):
    schema, members = members_of(method)
    name = next(name for name in members if name.endswith(".npy"))
    write_members(method, schema, {**members, name: content})
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_skops(method, PLKNN)


def with_other_sparse_arrays(method, content):
    schema, members = members_of(method)
    for name in members:
        if name.endswith(".npz"):
            members[name] = content
    write_members(method, schema, members)


def npz(array, **parts):
    file = io.BytesIO()
    sparse.save_npz(file, array)
    file.seek(0)
    with np.load(file) as arrays:
        kept = {**arrays, **parts}
    file = io.BytesIO()
    np.savez_compressed(file, **{name: value for name, value in kept.items() if value is not None})
    return file.getvalue()


CSR = sparse.csr_array(np.eye(4))


def claiming(content, size):
    """Return an archive whose first part is said to unpack to another size."""
    place = content.index(b"PK\x01\x02") + 24
    return content[:place] + struct.pack("<I", size) + content[place + 4 :]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npz(CSR, indices=np.array([0, 1, 2, 400])), "indices|index"),
        (npz(CSR, indices=np.array([0, 1, 2, -4])), "indices|index"),
        (npz(CSR, indptr=np.array([0, 9, 2, 3, 4])), "ind"),
        (npz(CSR, data=np.ones(2)), "ind"),
        (npz(CSR, data=np.array([1, 2, 3, np.inf])), "not finite"),
        (npz(CSR, shape=np.array([-4, 4])), "shape"),
        (npz(CSR, shape=None), "without its parts"),
        (npz(CSR, extra=np.ones(2)), "without its parts"),
        (npz(CSR.tocsc()), "not in rows"),
        (npz(sparse.csr_matrix(np.eye(4)), _is_array=np.array(False)), "not in rows"),
        (npz(CSR, data=np.array([Trap()] * 4, dtype=object)), "of the type object"),
        (claiming(npz(CSR), 2**32 - 2), "would unpack to 4,294"),
        (b"PK", "not a zip"),
    ],
    ids=range(13),
)
def test_sparse_arrays_that_cannot_be_are_refused(method, content, message):
    with_other_sparse_arrays(method, content)
    with pytest.raises(ModelFileError, match=message):
        read_skops(method, PLKNN, finite=True)


def test_parts_that_are_packed_in_an_unusual_way_are_refused(method):
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(npz(CSR))) as old, zipfile.ZipFile(packed, "w", 14) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with_other_sparse_arrays(method, packed.getvalue())
    with pytest.raises(ModelFileError, match="packed in an unusual way"):
        read_skops(method, PLKNN)


def test_a_packed_archive_is_refused(features):
    write_members(features, *members_of(features), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="its parts are larger than it is"):
        read_features(features)


@pytest.mark.parametrize("name", ["../evil.npy", "/etc/evil.npy", "1.npy", "more.txt"])
def test_parts_that_nothing_uses_are_refused(features, name):
    schema, members = members_of(features)
    write_members(features, schema, {**members, name: b"x"})
    with pytest.raises(ModelFileError, match=f"nothing in it uses its part '{name}'"):
        read_features(features)


def test_a_part_that_is_there_twice_is_refused(features):
    with zipfile.ZipFile(features, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelFileError, match="it has a part twice"):
        read_features(features)


def test_a_part_that_is_missing_is_said(features):
    schema, _ = members_of(features)
    write_members(features, schema, {})
    with pytest.raises(ModelFileError, match="There is no item named"):
        read_features(features)


@pytest.mark.parametrize(
    "schema", ["", "[]", "{}", "null", "{", '{"protocol": 2}', "[" * 100_000, '"' + "x" * 1000],
    ids=range(8),
)  # fmt: skip
def test_a_schema_that_is_none_is_refused(features, schema):
    write_members(features, schema, {})
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_features(features)


def test_a_schema_nested_too_deep_is_refused(features):
    inner = value_node(1)
    for number in range(1000, 1400):
        inner = sequence(inner, number=number)
    plant(features, inner)
    with pytest.raises(ModelFileError, match="recursion"):
        read_features(features)


def test_a_list_that_is_its_own_part_is_refused(features):
    plant(features, sequence(sequence(value_node(1))))
    with pytest.raises(ModelFileError, match="recursion"):
        read_features(features)


@pytest.mark.parametrize("protocol", [0, 1, True, "2", None, -1, 99])
def test_another_protocol_is_refused(features, protocol):
    schema, members = members_of(features)
    write_members(features, {**schema, "protocol": protocol}, members)
    with pytest.raises(ModelFileError, match="protocol"):
        read_features(features)


def test_an_object_of_another_type_is_refused(features, method):
    with pytest.raises(ModelFileError, match="it holds a .*PLKNN, and no ColumnTransformer"):
        read_features(method)
    with pytest.raises(ModelFileError, match="it holds a .*ColumnTransformer, and no PLKNN"):
        read_skops(features, PLKNN)


@pytest.mark.parametrize("attribute", ["transform", "fit", "__class__", "__reduce__", "get_params"])
def test_an_attribute_in_the_place_of_a_method_is_refused(features, attribute):
    schema, members = members_of(features)
    state = schema["content"]
    state["content"][attribute] = value_node(1)
    state["key_types"]["content"].append(state["key_types"]["content"][0])
    write_members(features, schema, members)
    with pytest.raises(ModelFileError, match=f"it replaces {attribute} of ColumnTransformer"):
        read_features(features)


def test_an_attribute_in_the_place_of_a_card_is_refused(method):
    schema, members = members_of(method)
    state = schema["content"]
    state["content"]["card"] = value_node(1)
    state["key_types"]["content"].append(state["key_types"]["content"][0])
    write_members(method, schema, members)
    with pytest.raises(ModelFileError, match="it replaces card of PLKNN"):
        read_skops(method, PLKNN)


def test_another_dictionary_cannot_stand_in_for_the_attributes_of_an_object(features):
    schema, members = members_of(features)
    number = schema["content"]["__id__"]
    attributes_of(schema)["remainder"] = keyed(
        node("TypeNode", "builtins.str", 999_999_950), {"transform": value_node(1)}, number=number
    )
    write_members(features, schema, members)
    with pytest.raises(ModelFileError, match="two parts of the same number"):
        read_features(features)


@pytest.mark.parametrize(
    ("loader", "change", "message"),
    [
        ("JsonNode", {"content": "[1]"}, "hides a list"),
        ("JsonNode", {"content": 5}, "must be str"),
        ("JsonNode", {"more": 5}, "not made as skops makes one"),
        ("JsonNode", {"__id__": "1"}, "counts a part as '1'"),
        ("JsonNode", {"__id__": 0}, "counts a part as 0"),
        ("JsonNode", {"__id__": True}, "counts a part as True"),
        ("JsonNode", {"__id__": []}, "counts a part as"),
        ("JsonNode", {"__class__": 3}, "has no place"),
        ("JsonNode", {"__loader__": []}, "unhashable"),
        ("ListNode", {"content": {"a": 1}}, "in the place of a list"),
        ("ListNode", {"content": [5]}, "in the place of a node"),
        ("TypeNode", {"content": 5}, "not made as skops makes one"),
        ("DictNode", {"content": []}, "without a type"),
        ("DictNode", {"key_types": SCALER}, "in the place of a ListNode"),
        ("DictNode", {"key_types": 5}, "in the place of a node"),
        ("SliceNode", {"content": {"start": 0}}, "slice without ends"),
        ("SliceNode", {"content": {"start": "a", "stop": 1, "step": 1}}, "not made of whole"),
        ("ObjectNode", {"content": value_node(1)}, "in the place of a DictNode"),
        ("DTypeNode", {"content": value_node(1)}, "in the place of a NdArrayNode"),
        ("NdArrayNode", {"type": "text"}, "not made as skops makes one"),
    ],
    ids=str,
)
def test_nodes_that_skops_does_not_make_are_refused(features, loader, change, message):
    schema, members = members_of(features)
    found = [some for some in nodes_in(schema) if some["__loader__"] == loader]
    found[-1].update(change)
    write_members(features, schema, members)
    with pytest.raises(ModelFileError, match=message):
        read_features(features)


@pytest.mark.parametrize("change", [{"file": "../1.npy"}, {"file": "1.npy"}, {"type": "scipy"}])
def test_an_array_must_be_in_the_file_that_is_named_after_it(method, change):
    schema, members = members_of(method)
    attributes_of(schema)["_rows"].update(change)
    write_members(method, schema, members)
    with pytest.raises(ModelFileError, match="it has a part '.*' in the place of '.*.npy'"):
        read_skops(method, PLKNN)


def test_a_type_of_a_key_must_be_a_type(features):
    schema, members = members_of(features)
    schema["content"]["key_types"]["content"][0] = value_node("str")
    write_members(features, schema, members)
    with pytest.raises(ModelFileError, match="a JsonNode in the place of a TypeNode"):
        read_features(features)


def test_numbers_that_are_not_finite_are_refused_where_that_is_asked(method):
    schema, members = members_of(method)
    node_of_rows = attributes_of(schema)["_rows"]
    rows = MODEL.method._rows.copy()
    rows[3, 0] = np.nan
    write_members(method, schema, {**members, node_of_rows["file"]: npy(rows)})
    with pytest.raises(ModelFileError, match="it holds numbers that are not finite"):
        read_skops(method, PLKNN, finite=True)


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (PLKNN(scaling=StandardScaler()), "StandardScaler"),
        (AverageClassifier(estimator=RandomForestClassifier(n_estimators=2)), "Forest"),
        (PLKNN(scaling=FunctionTransformer(np.sqrt)), "FunctionTransformer"),
    ],
    ids=["scaling", "forest", "function"],
)
def test_parts_that_could_not_be_read_again_are_not_written(tmp_path, method, what):
    method.fit(np.abs(MODEL.method._rows), CANDIDATES)
    with pytest.raises(ParameterError, match=f"can be saved if its parts .* it names .*{what}"):
        write_skops(method, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_parts_that_skops_does_not_take_are_not_written(tmp_path):
    scaler = FeatureScaler()
    scaler.kind = iter([])
    with pytest.raises(ParameterError, match="FeatureScaler can be saved if its parts"):
        write_skops(scaler, tmp_path / "file")


def test_what_an_exception_says_is_cut_to_a_line():
    assert one_line(ValueError("first\nsecond")) == "first"
    assert one_line(MemoryError()) == "MemoryError"
    assert one_line(ValueError("x" * 1000)) == "x" * 200 + "..."
