"""Texts described by a pretrained model: a tiny one that the tests write to disk."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.tabular import DescribedColumns, fit_table, load_model
from disambig.tabular.described.text_models import find_text_describer

sentence_transformers = pytest.importorskip(
    "sentence_transformers", reason="needs the extra text: pip install 'disambig[text]'"
)
# Libraries deprecate what they have moved; versions of years are supported.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "dog", "sat", "ran", "the", "a", "in"]
TEXTS = [
    f"the {animal} {did} in a {n}"
    for n in "abcde"
    for animal, did in [("cat", "sat"), ("dog", "ran")]
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import torch
    import transformers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import models as parts
    torch.manual_seed(0)
    place = tmp_path_factory.mktemp("tiny")
    (place / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = transformers.BertTokenizer(str(place / "vocab.txt"))
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(place / "bert")
    tokenizer.save_pretrained(place / "bert")
    words = parts.Transformer(str(place / "bert"))
    pooling = parts.Pooling(words.get_word_embedding_dimension())
    model = sentence_transformers.SentenceTransformer(modules=[words, pooling], device="cpu")
    model.save(str(place / "model"))
    return place / "model"


def table():
    labels = ["cat", "dog"] * 5
    return pd.DataFrame({"text": TEXTS, "label": labels})


def test_texts_get_the_embeddings_of_the_model(folder):
    describer = find_text_describer(str(folder))
    said = np.stack(describer.describe([text.encode() for text in TEXTS]))
    expected = sentence_transformers.SentenceTransformer(str(folder)).encode(TEXTS)
    assert said.shape == (10, describer.width)
    np.testing.assert_allclose(said, expected, atol=1e-5)
    assert describer.describe([]) == []


def test_a_table_learns_from_embeddings_and_predicts_with_the_same_model(folder, tmp_path):
    described = DescribedColumns(text_model=str(folder), cache=tmp_path / "cache")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_table(
            table(), method="plknn", text="text", described=described, n_folds=0,
            out=tmp_path / "model",
        )  # fmt: skip
    assert model.plan.columns[0].described_by.width == 8
    predicted = load_model(tmp_path / "model").predict(table())
    assert predicted["predicted_label"].tolist() == ["cat", "dog"] * 5
    assert list((tmp_path / "cache").glob("*.safetensors"))


def test_other_weights_are_refused_for_new_rows(folder, tmp_path):
    described = DescribedColumns(text_model=str(folder))
    model = fit_table(table(), method="plknn", text="text", described=described, n_folds=0)
    import shutil

    other = tmp_path / "other"
    shutil.copytree(folder, other)
    config = other / "config.json"
    config.write_text(config.read_text() + "\n")
    with pytest.raises(TableError, match="described as in training"):
        model.predict(table(), described=DescribedColumns(text_model=str(other)))


def test_a_folder_that_would_run_code_is_refused(folder, tmp_path):
    import shutil

    other = tmp_path / "other"
    shutil.copytree(folder, other)
    path = other / "modules.json"
    modules = json.loads(path.read_text())
    modules[0]["type"] = "evil.Module"
    path.write_text(json.dumps(modules))
    with pytest.raises(ParameterError, match="'evil.Module' would run code"):
        find_text_describer(str(other))
    path.write_text((folder / "modules.json").read_text())
    for part, key, value in (
        ("2_Dense/config.json", "activation_function", "os.abort"),
        ("router_config.json", "types", {"query": "evil.Module"}),
    ):
        (other / part).parent.mkdir(exist_ok=True)
        (other / part).write_text(json.dumps({key: value}))
        with pytest.raises(ParameterError, match=r"'(os.abort|evil.Module)' would run code"):
            find_text_describer(str(other))
        (other / part).unlink()
    for weights in other.rglob("*.safetensors"):
        weights.unlink()
    with pytest.raises(ParameterError, match="no weights"):
        find_text_describer(str(other))
    path.unlink()
    with pytest.raises(ParameterError, match="no file modules.json"):
        find_text_describer(str(other))


def test_a_model_that_is_not_there_is_named_with_what_to_do():
    with pytest.raises(ParameterError, match=r"Got 'no-such-model'. Nothing is downloaded.*save"):
        find_text_describer("no-such-model")
    with pytest.raises(ParameterError, match="Got no name"):
        find_text_describer("")
