import io
import pickle
import struct
import zipfile

import joblib
import numpy as np
import pytest
from scipy import sparse

from disambig import PLKNN
from disambig._core.errors import ModelFileError
from disambig.tabular.model.skops_file import read_skops
from tabular.model.model_folders import attributes_of, members_of, write_members
from tabular.model.saved_models import MODELS, read_features

MODEL = MODELS["plknn"]


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


@pytest.mark.parametrize("change", [{"file": "../1.npy"}, {"file": "1.npy"}, {"type": "scipy"}])
def test_an_array_must_be_in_the_file_that_is_named_after_it(method, change):
    schema, members = members_of(method)
    attributes_of(schema)["_rows"].update(change)
    write_members(method, schema, members)
    with pytest.raises(ModelFileError, match="it has a part '.*' in the place of '.*.npy'"):
        read_skops(method, PLKNN)


def test_numbers_that_are_not_finite_are_refused_where_that_is_asked(method):
    schema, members = members_of(method)
    node_of_rows = attributes_of(schema)["_rows"]
    rows = MODEL.method._rows.copy()
    rows[3, 0] = np.nan
    write_members(method, schema, {**members, node_of_rows["file"]: npy(rows)})
    with pytest.raises(ModelFileError, match="it holds numbers that are not finite"):
        read_skops(method, PLKNN, finite=True)
