import pytest
import skops.io
from sklearn.preprocessing import FunctionTransformer

from disambig import PLKNN
from disambig._core.errors import ModelFileError
from disambig.methods.scaling import FeatureScaler
from disambig.tabular.model.skops_file import read_skops
from tabular.model.model_folders import (
    attributes_of,
    members_of,
    nodes_in,
    value_node,
    write_members,
)
from tabular.model.saved_models import MODELS, read_features

MODEL = MODELS["plknn"]
NO_PLACE = "cannot be read: it names .* which has no place in a model.* write it again"


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


def test_a_type_of_a_key_must_be_a_type(features):
    schema, members = members_of(features)
    schema["content"]["key_types"]["content"][0] = value_node("str")
    write_members(features, schema, members)
    with pytest.raises(ModelFileError, match="a JsonNode in the place of a TypeNode"):
        read_features(features)
