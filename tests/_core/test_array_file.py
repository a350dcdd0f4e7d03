import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from disambig._core.array_file import plain, read_arrays, take_part, write_arrays
from disambig._core.errors import DisambigError, ModelFileError

read_tensors = partial(read_arrays, framework="torch")
write_tensors = partial(write_arrays, framework="torch")
KIND, VERSION = "test model", 3
TENSORS = {
    "single": torch.tensor([[1.5, -2.0], [0.0, 3.25]]),
    "double": torch.tensor([1 / 3], dtype=torch.float64),
    "whole": torch.tensor([2**60, -1]),
    "flags": torch.tensor([True, False]),
    "one": torch.tensor(7.0),
    "none": torch.zeros(0, 4),
}
DESCRIPTION = {"text": 'quoted "text", ü', "numbers": [1, 2.5, None], "nested": {"a": True}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.file"
    write_tensors(path, KIND, VERSION, TENSORS, DESCRIPTION)
    return path


def assert_refused(path, message, kind=KIND, version=VERSION):
    with pytest.raises(ModelFileError, match=message) as caught:
        read_tensors(path, kind, version)
    assert isinstance(caught.value, DisambigError)
    assert str(path) in str(caught.value)


def test_what_is_written_is_read(path):
    tensors, description = read_tensors(path, KIND, VERSION)
    assert tensors.keys() == TENSORS.keys()
    for name, value in TENSORS.items():
        assert tensors[name].dtype == value.dtype
        assert torch.equal(tensors[name], value)
    assert description.items() >= DESCRIPTION.items()


def test_a_path_can_be_text_in_a_folder_that_is_not_there_yet(tmp_path):
    path = os.fspath(tmp_path / "new" / "folder" / "model")
    write_tensors(path, KIND, VERSION, TENSORS, {})
    assert read_tensors(path, KIND, VERSION)[0].keys() == TENSORS.keys()


def test_tensors_that_share_memory_or_are_out_of_order_are_written(tmp_path):
    whole = torch.arange(6.0).view(2, 3)
    tensors = {"whole": whole, "same": whole, "part": whole[:, 1:], "turned": whole.T}
    write_tensors(tmp_path / "file", KIND, VERSION, tensors, {})
    found, _ = read_tensors(tmp_path / "file", KIND, VERSION)
    for name, value in tensors.items():
        assert torch.equal(found[name], value)


def test_parameters_that_need_gradients_are_written(tmp_path):
    write_tensors(tmp_path / "file", KIND, VERSION, {"a": torch.nn.Parameter(torch.ones(2))}, {})
    found, _ = read_tensors(tmp_path / "file", KIND, VERSION)
    assert found["a"].tolist() == [1, 1]
    assert not found["a"].requires_grad


def test_what_is_read_stays_when_the_file_is_replaced(path):
    tensors, _ = read_tensors(path, KIND, VERSION)
    write_tensors(path, KIND, VERSION, {name: value * 0 for name, value in TENSORS.items()}, {})
    assert torch.equal(tensors["single"], TENSORS["single"])


def test_a_file_is_replaced_and_nothing_else_is_left(path):
    write_tensors(path, KIND, VERSION, {"a": torch.ones(1)}, {"new": 1})
    tensors, description = read_tensors(path, KIND, VERSION)
    assert list(tensors) == ["a"]
    assert "text" not in description
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert_refused(tmp_path / "nothing", "There is no file .*nothing.* Check the path")


def test_a_folder_is_refused(tmp_path):
    assert_refused(tmp_path, "There is no file")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert_refused(path, "is not a test model that disambig can read: it is damaged or something")


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1000])
def test_random_bytes_are_refused(tmp_path, size):
    path = tmp_path / "noise"
    path.write_bytes(bytes((37 * number * number + 11) % 256 for number in range(size)))
    assert_refused(path, "it is damaged or something else .* Give a file that disambig wrote as")


def test_text_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_text("name,value\n" * 100)
    assert_refused(path, "it is damaged or something else")


def test_a_pickle_is_refused_and_not_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (os.fspath(tmp_path / "opened"),)

    path = tmp_path / "pickle"
    torch.save({"a": Trap()}, path)
    assert_refused(path, "it is damaged or something else")
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"format": "pt"},
        {"disambig": "[1, 2]"},
        {"disambig": "null"},
        {"disambig": '{"version": 3}'},
    ],
)
def test_tensors_of_others_are_refused(tmp_path, metadata):
    path = tmp_path / "other.safetensors"
    save_file({"a": torch.ones(1)}, path, metadata=metadata)
    assert_refused(path, "is not a test model that disambig can read: it was not written by")


def test_a_header_that_is_not_json_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file({"a": torch.ones(1)}, path, metadata={"disambig": '{"kind": '})
    assert_refused(path, "its header is damaged")


def test_a_header_nested_deeper_than_python_follows_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    depth = 200_000
    save_file({"a": torch.ones(1)}, path, metadata={"disambig": "[" * depth + "]" * depth})
    assert_refused(path, "its header is damaged")


def test_a_file_of_another_kind_is_refused(path):
    assert_refused(path, "is not a lamp that disambig can read: it is a test model", kind="lamp")


@pytest.mark.parametrize("version", [2, 4])
def test_a_file_of_another_version_is_refused(path, version):
    message = f"it has the version 3, and this disambig reads {version}"
    assert_refused(path, message, version=version)


def test_a_file_without_a_version_is_refused(tmp_path):
    path = tmp_path / "file"
    header = json.dumps({"kind": KIND})
    save_file({"a": torch.ones(1)}, path, metadata={"disambig": header})
    assert_refused(path, "it has the version None, and this disambig reads 3")


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_numbers_that_are_not_finite_are_refused(path, bad):
    tensors = {**TENSORS, "bad": torch.tensor([[1.0, bad]])}
    write_tensors(path, KIND, VERSION, tensors, DESCRIPTION)
    assert_refused(path, "it holds numbers that are not finite")


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_numbers_of_a_type_that_is_never_written_are_refused(path, dtype):
    write_tensors(path, KIND, VERSION, {**TENSORS, "bad": torch.ones(3).to(dtype)}, DESCRIPTION)
    assert_refused(path, "it holds numbers of a type that disambig does not write")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8, torch.int16], ids=str)
def test_numbers_that_modules_of_the_user_may_have_are_read(path, dtype):
    write_tensors(path, KIND, VERSION, {"a": torch.arange(3).to(dtype)}, DESCRIPTION)
    tensors, _ = read_tensors(path, KIND, VERSION)
    assert tensors["a"].dtype == dtype
    assert tensors["a"].tolist() == [0, 1, 2]


def test_entries_that_are_asked_for_must_be_there(path):
    read_tensors(path, KIND, VERSION, entries=["text", "nested"])
    with pytest.raises(ModelFileError, match="it does not say colour, weight"):
        read_tensors(path, KIND, VERSION, entries=["colour", "text", "weight"])


def test_the_kind_and_version_of_the_file_win_over_the_description(tmp_path):
    write_tensors(tmp_path / "file", KIND, VERSION, {}, {"kind": "lamp", "version": 99})
    _, description = read_tensors(tmp_path / "file", KIND, VERSION)
    assert (description["kind"], description["version"]) == (KIND, VERSION)


def test_the_old_file_stays_when_writing_fails(path, monkeypatch):
    before = path.read_bytes()

    def full_disk(target, content):
        with target.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_tensors(path, KIND, VERSION, {"a": torch.ones(1)}, {})
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_old_file_stays_when_the_description_cannot_be_written(path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_tensors(path, KIND, VERSION, {"a": torch.ones(1)}, {"odd": object()})
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# Arrays of numpy -------------------------------------------------------------------------------


def test_arrays_come_back_as_they_were(tmp_path):
    arrays = {
        "double": np.array([[1.5, -2.0], [0.0, 1 / 3]]),
        "turned": np.arange(6.0).reshape(2, 3).T,
        "every other": np.arange(10)[::2],
        "flags": np.array([True, False]),
        "one": np.asarray(7),
        "none": np.zeros((0, 4), dtype=np.float32),
    }
    write_arrays(tmp_path / "file", KIND, VERSION, arrays, DESCRIPTION)
    found, description = read_arrays(tmp_path / "file", KIND, VERSION)
    assert description.items() >= DESCRIPTION.items()
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_arrays_that_are_not_finite_are_refused(tmp_path, bad):
    write_arrays(tmp_path / "file", KIND, VERSION, {"a": np.array([1.0, bad])}, {})
    with pytest.raises(ModelFileError, match="it holds numbers that are not finite"):
        read_arrays(tmp_path / "file", KIND, VERSION)
    assert len(read_arrays(tmp_path / "file", KIND, VERSION, finite=False)[0]["a"]) == 2


def test_a_type_that_numpy_does_not_have_is_refused(tmp_path):
    write_tensors(tmp_path / "file", KIND, VERSION, {"a": torch.ones(2).bfloat16()}, {})
    with pytest.raises(ModelFileError, match="of a type that disambig does not write"):
        read_arrays(tmp_path / "file", KIND, VERSION)


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_booleans_that_are_neither_are_refused(path, framework):
    content = bytearray(path.read_bytes())
    header_size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + header_size])
    content[8 + header_size + header["flags"]["data_offsets"][0]] = 2
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="it holds booleans that are neither true nor false"):
        read_arrays(path, KIND, VERSION, framework=framework)


@pytest.mark.parametrize("length", [2**62, 2**63])
def test_an_impossible_shape_is_refused_even_where_it_holds_nothing(path, length):
    content = path.read_bytes()
    header_size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + header_size])
    header["none"]["shape"] = [0, length]
    changed = json.dumps(header).encode()
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + content[8 + header_size :])
    with pytest.raises(ModelFileError, match="it is damaged or something else"):
        read_arrays(path, KIND, VERSION)


def test_what_a_damaged_file_says_of_itself_is_shown_without_control_characters(tmp_path):
    path = tmp_path / "model.safetensors"
    header = json.dumps({"a\x1b": {"dtype": "\x00", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(ModelFileError) as caught:
        read_tensors(path, KIND, VERSION)
    assert str(caught.value).isprintable()


def test_the_arrays_of_a_part_are_taken_out_by_the_rest_of_their_names():
    arrays = {"scaler.mean": 1, "scaler.views.first": 2, "scalers": 3}
    assert take_part(arrays, "scaler") == {"mean": 1, "views.first": 2}
    assert arrays == {"scalers": 3}


def test_values_are_made_plain_for_json_and_what_has_no_plain_form_is_none():
    value = {
        "array": np.eye(2),
        "number": np.float32(0.5),
        "mixed": ("text", [np.int64(3), None]),
        "other": object(),
    }
    assert plain(value) == {
        "array": [[1.0, 0.0], [0.0, 1.0]],
        "number": 0.5,
        "mixed": ["text", [3, None]],
        "other": None,
    }
