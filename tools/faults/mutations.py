"""Change the bytes of a file by chance: anywhere, or inside what is packed or sealed."""

import copy
import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

Random = random.Random
Change = Callable[[bytes, Random], bytes]

INTEGERS = (0, 1, -1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1)
FLOATS = (float("nan"), float("inf"), -float("inf"), -0.0, 1e308, 5e-324, 1e-300)
TEXTS = (
    "", "\x00", "\x1b[31m", "\x1b]0;owned\x07", "\x9b31m", "\u202e", "\ud800", "\ufeff", "\u0130",
    "🦉", "a" * 5000, "../../escaped", "/etc/passwd", "=cmd|' /C calc'!A0", "NaN", "-1", "1e999",
    "9" * 5000, "nan", "null", "%n%s", "{0.__class__}", "<script>", "\r", "\n", "|", ":", "!",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, 2**63, 2**64, -(2**63), 10**400, float("nan"),
    float("inf"), 1e308, [], {}, [[]], [{}], {"": {}}, [None], "x", *TEXTS,
)  # fmt: skip
# What means something in a kind of file, to be put where it does not belong.
TEXT_TOKENS = (
    b",", b'"', b"\n", b"\r", b"\r\n", b"\t", b";", b"|", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00",
    b"\x1b[2J", b"\xc2\x9b", b"\xed\xa0\x80", b"label", b"cat", b"NaN", b"1e999", b"-0",
    b"9" * 400, b"=1+1", b"[", b"{", b"!", b":0.5", b"truth", b"chosen_label", b"0x1p3", b"1_0",
    "\u0661".encode(), b"inf", b"1970-01-01",
)  # fmt: skip
JSON_TOKENS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"NaN", b"Infinity", b"1e999",
    b"9" * 5000, b"-1", b'"\\ud800"', b"\\u0000", b'""', b'{"a":' * 40, b"[" * 40, b"\n",
    b'"label"', b'"version"',
)  # fmt: skip
TOML_TOKENS = (
    b"[[", b"]]", b"=", b'"', b"\n", b"a.b.c", b"'", b'"""', b"folds = 0", b"-1", b"1e400", b"inf",
    b"99999999999", b"plknn", b"ncpd", b"os:system", b"name", b"path", b"[[datasets]]", b"{",
    b"/etc/passwd", b"../", b"\x1b", b"\\u001b]0;x", b"kfold", b"holdout", b"true", b"1979-05-27",
    b"sure", b"average",
)  # fmt: skip
NPY_TOKENS = (
    b"<f8", b"|O", b"<U9", b"<U999999999", b"(12, 2)", b"(999999999, 9)", b"True", b"|b1", b">i4",
    b"|V8",
)  # fmt: skip
PARQUET_TOKENS = (b"PAR1", b"PARE", b"pandas", b"\x15", b"\x19", b"\x1c", b"label")
XML_TOKENS = (
    b"<row", b"<c ", b't="s"', b't="e"', b't="d"', b"<f>1+1</f>", b"&amp;", b"&x;", b"<!DOCTYPE",
    b"XFD1048576", b'r="A1"', b"</", b"<v>", b"1e999", b"99999999999",
)  # fmt: skip


def mutate(content: bytes, random: Random, tokens: Sequence[bytes] = ()) -> bytes:
    """Return the bytes with one to six changes, most often one."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        content = random.choice(_CHANGES)(content, random)
        if tokens and random.random() < 0.4:
            content = _put_token(content, random, tokens)
    return content


def _flip_bits(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 4, 16)) if changed else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _set_byte(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content) + 1)
    return content[:at] + bytes([random.randrange(256)]) + content[at + 1 :]


def _delete(content: bytes, random: Random) -> bytes:
    begin, end = _part(content, random)
    return content[:begin] + content[end:]


def _insert(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content) + 1)
    filling = random.choice((b"\0", b"\xff", b" ", b"A", random.randbytes(1)))
    added = filling * random.choice((1, 2, 8, 100))
    if random.random() < 0.5:
        added = random.randbytes(len(added))
    return content[:at] + added + content[at:]


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _swap_blocks(content: bytes, random: Random) -> bytes:
    points = sorted(random.randrange(len(content) + 1) for _ in range(4))
    a, b, c, d = points
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _repeat_block(content: bytes, random: Random) -> bytes:
    begin, end = _part(content, random)
    return content[:end] + content[begin:end] * random.choice((1, 2, 50)) + content[end:]


def _put_number(content: bytes, random: Random) -> bytes:
    """Write a number that programs stumble over to where a number may be."""
    if random.random() < 0.7:
        size, value = random.choice((1, 2, 4, 8)), random.choice(INTEGERS)
        order = random.choice(("little", "big"))
        packed = (value % 256**size).to_bytes(size, order)
    else:
        packed = struct.pack(random.choice("<>") + random.choice("fd"), _float(random))
    step = random.choice((1, 2, 4, 8))
    at = random.randrange(max(1, len(content) // step)) * step
    return content[:at] + packed + content[at + len(packed) :]


def _float(random: Random) -> float:
    value = random.choice(FLOATS)
    return value if abs(value) < 1e38 or value != value or value in (FLOATS[1], FLOATS[2]) else 3e38


def _part(content: bytes, random: Random) -> tuple[int, int]:
    begin = random.randrange(len(content) + 1)
    return begin, min(len(content), begin + random.choice((1, 2, 4, 8, 64, 1000)))


def _put_token(content: bytes, random: Random, tokens: Sequence[bytes]) -> bytes:
    token, at = random.choice(tokens), random.randrange(len(content) + 1)
    other = random.choice(tokens)
    if other in content and random.random() < 0.5:  # in the place of one that is there
        return content.replace(other, token, 1)
    return content[:at] + token + content[at + random.choice((0, len(token))) :]


_CHANGES: tuple[Change, ...] = (
    _flip_bits, _flip_bits, _set_byte, _delete, _insert, _cut, _swap_blocks, _repeat_block,
    _put_number, _put_number,
)  # fmt: skip


def mutate_json(content: bytes, random: Random) -> bytes:
    """Put other values into a JSON document, which stays one."""
    tree = json.loads(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        tree = _replace_node(tree, random)
    return json.dumps(tree).encode()


def _replace_node(tree: Any, random: Random) -> Any:
    if not isinstance(tree, dict | list) or not tree or random.random() < 0.15:
        return copy.deepcopy(random.choice(VALUES))
    key = random.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
    match random.randrange(5):
        case 0 if isinstance(tree, dict):
            tree[random.choice(TEXTS)] = tree.pop(key)
        case 0 | 1:
            del tree[key]
        case 2 if isinstance(tree, list):
            tree.append(copy.deepcopy(tree[key]))
        case _:
            tree[key] = _replace_node(tree[key], random)
    return tree


def mutate_json_lines(content: bytes, random: Random) -> bytes:
    """Put other values into a line of a file of JSON lines."""
    lines = content.splitlines()
    at = random.randrange(len(lines))
    lines[at] = mutate_json(lines[at], random)
    return b"\n".join(lines) + b"\n"


def mutate_zip(inside: Change) -> Change:
    """Return a change to one member of an archive, which is packed again with right checksums."""

    def change(content: bytes, random: Random) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
            names = old.namelist()
            chosen = random.choice(names)
            for name in names:
                member = old.read(name)
                new.writestr(name, inside(member, random) if name == chosen else member)
        return packed.getvalue()

    return change


def mutate_safetensors(content: bytes, random: Random) -> bytes:
    """Put other values into the header, or into the description in it; its length fits again."""
    (size,) = struct.unpack("<Q", content[:8])
    header, rest = content[8 : 8 + size], content[8 + size :]
    if random.random() < 0.6:
        tree = json.loads(header)
        metadata = tree["__metadata__"]
        name = next(iter(metadata))
        metadata[name] = mutate_json(metadata[name].encode(), random).decode()
        header = json.dumps(tree).encode()
    else:
        header = mutate_json(header, random)
    return struct.pack("<Q", len(header)) + header + rest


def mutate_compressed_mat(content: bytes, random: Random) -> bytes:
    """Change what is inside the compressed elements of a MATLAB file."""
    changed, at = content[:128], 128
    while at + 8 <= len(content):
        _, size = struct.unpack("<II", content[at : at + 8])
        element = zlib.decompress(content[at + 8 : at + 8 + size])
        if random.random() < 0.5:
            element = mutate(element, random)
        packed = zlib.compress(element)
        changed += struct.pack("<II", 15, len(packed)) + packed
        at += 8 + size
    return changed
