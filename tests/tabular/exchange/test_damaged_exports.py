"""Whatever a file holds, reading it as an export ends in a table or in a message."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disambig._core.errors import TableError
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.registry import ReadOptions, find_tool, recognise
from disambig.tabular.files.content import FileContent
from tabular.exchange.exports import EXPORTS

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(["", "cat", "!"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["label", "value", "text", ""]), inner, max_size=2)
    ),
    max_leaves=4,
)


def read(tool, content):
    content = FileContent("export", content=content)
    recognise(content)
    try:
        imported = find_tool(tool).read([content], ReadOptions(predictions=True))
    except TableError:
        return
    assert isinstance(imported, Imported)
    imported.options()
    assert imported.counts().items >= 1


@settings(max_examples=100, deadline=None)
@given(form=st.sampled_from(sorted(EXPORTS)), data=st.data())
def test_exports_that_are_cut_off_or_altered(form, data):
    content = bytearray(EXPORTS[form].encode())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    read(form[0], bytes(content))


def places(value, path=()):
    """Return the paths to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from places(each, (*path, key))


@settings(max_examples=200, deadline=None)
@given(
    form=st.sampled_from(sorted(form for form in EXPORTS if form[0] not in ("toloka", "mturk"))),
    data=st.data(),
)
def test_exports_with_another_value_somewhere(form, data):
    text = EXPORTS[form]
    if not text.startswith(("[", "{")):
        return
    listed = text.startswith("[")
    records = json.loads(text) if listed else [json.loads(line) for line in text.splitlines()]
    *path, last = data.draw(st.sampled_from(list(places(records))))
    holder = records
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(JSON)
    read(form[0], json.dumps(records).encode())


@pytest.mark.parametrize("tool", ["label-studio", "prodigy", "doccano", "argilla", "sagemaker"])
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b" \n", b"[]", b"{}", b"[{}]", b"[1]", b"[" * 100_000, b'{"a": ' * 100_000),
        *(b'{"a": 1, "a": 2}', b'[{"label": "\\ud800"}]', b"\xff\xfe", b"1"),
        b'{"id": ' + b"9" * 5_000,
    ],
)
def test_files_that_are_no_export(tool, content):
    read(tool, content)


def test_fields_that_only_one_task_has_take_no_more_memory_than_allowed():
    lines = [json.dumps({"text": "x", f"field{n}": n, "label": []}) for n in range(2_000)]
    content = FileContent("x", content="\n".join(lines).encode(), max_memory=20_000_000)
    with pytest.raises(TableError, match="2,000 tasks and their fields"):
        find_tool("doccano").read([content], ReadOptions())
