"""Attacks by text: CSV, JSON lines, decisions and annotations, and JSON of any kind."""

import json
from collections.abc import Callable, Iterator

from attacks import ESCAPE, MARKUP, Attack, put


def table(label: str = "cat", name: str = "width", cell: str = "1", rows: int = 12) -> str:
    """Return a table with an odd label, name of a column, or number in each but the first row."""
    quoted = [f'"{text.replace(chr(34), chr(34) * 2)}"' for text in (name, cell, label)]
    lines = [f"id,length,{quoted[0]},colour,label,truth", "V0,2,3,red,dog|cat,dog"]
    lines += [f"V{row},{row},{quoted[1]},red,{quoted[2]}," for row in range(1, rows)]
    return "\n".join(lines) + "\n"


def text_attacks() -> Iterator[Attack]:
    """Yield CSV files."""
    good = table()
    contents: dict[str, bytes | str | Callable[[], bytes]] = {
        "empty": b"",
        "a header only": good.splitlines()[0],
        "spaces": b" \n" * 10_000,
        "a NUL": good.replace("red", "r\0d"),
        "an open quote before 20 MB": '"' + good * 50_000,
        "a cell of 20 MB": table(label="a" * 20_000_000, rows=2),
        "UTF-16": good.encode("utf-16"),
        "UTF-32": good.encode("utf-32"),
        "UTF-16 cut in a character": good.encode("utf-16")[:-1],
        "bad UTF-8": good.encode() + b"\xff\xfe\xfa",
        "a lone surrogate": table(label="\ud800"),
        "overlong UTF-8": good.encode().replace(b"red", b"\xc0\xaf\xc1\x81"),
        "an escape in a label": table(label=f"{ESCAPE}|cat"),
        "an escape in a name": table(name=ESCAPE),
        "an escape in a cell": table(cell=ESCAPE),
        "an escape in every class": table(label=f"{ESCAPE}|cat|cat "),
        "a line feed in a name": table(name="a\nb"),
        "markup": table(label=f"{MARKUP}|cat"),
        "markup in a name": table(name=MARKUP),
        "a name of 1 MB": table(name="n" * 10**6),
        "overrides of direction": table(label="\u202ecat|dog", name="\u2066x"),
        "a formula": table(label="=HYPERLINK(1)|cat", cell="=1+1"),
        "JSON of great depth in a label": table(label="[" * 100_000),
        "a closed JSON of great depth": table(label="[" * 5_000 + "]" * 5_000),
        "JSON objects of great depth": table(label='{"a":' * 5_000 + "1" + "}" * 5_000),
        "a JSON integer of 5,000 digits": table(label=f'{{"cat": {"9" * 5000}}}'),
        "infinite weights": table(label="cat:1e999|dog:1"),
        "a weight nan": table(label="cat:nan"),
        "negative weights": table(label="cat:-1|dog:-1"),
        "no weight": table(label="cat:0|dog:0"),
        "20,000 labels in a cell": table(label="|".join(map(str, range(20_000))), rows=3),
        "20,000 times one label": table(label="|".join(["cat"] * 20_000), rows=3),
        "everything excluded": table(label="!cat|!dog"),
        "100,000 marks": table(label="!" * 100_000),
        "3,000 classes": "a,b,label\n"
        + "".join(f"{i},{i % 7},c{i}|c{i + 1}\n" for i in range(3_000)),
        "20,000 columns": lambda: wide_table(20_000),
        "100,000 commas in a row": good + "," * 100_000,
        "a million blank lines": good + "\n" * 1_000_000,
        "only carriage returns": good.replace("\n", "\r"),
        "a BOM in the middle": good * 1 + "\ufeff",
        "chosen_label already there": table(name="chosen_label"),
        "two columns of a name": table(name="length"),
        "a nameless column": table(name=""),
    }
    cells = (
        "1e308",
        "-1e308",
        "1e-320",
        "1e999",
        "nan",
        "9" * 400,
        "0x1p3",
        "1_000",
        "\u0661\u0662",
        "1,5",
        "9999-99-99",
        "0000-00-00",
        "1000000000-01-01",
        "1970-01-01T00:00:00+99:99",
        "2262-04-12",
        "true",
    )
    contents |= {f"a number {cell[:20]}": table(cell=cell) for cell in cells}
    for name, content in contents.items():
        yield Attack("csv", name, put("table.csv", content))
    for name in ("an escape in a label", "a closed JSON of great depth", "a lone surrogate"):
        yield Attack("study data", name, put("table.csv", contents[name]))
        yield Attack("cleaned table", name, put("clean.csv", contents[name]))


def wide_table(n_columns: int) -> bytes:
    """Return a CSV file of so many columns."""
    names = ",".join(f"x{column}" for column in range(n_columns))
    rows = (",".join(str((row * column) % 97) for column in range(n_columns)) for row in range(4))
    lines = [f"{names},label", *(f"{row},{label}" for row, label in zip(rows, "aabb", strict=True))]
    return "\n".join(lines).encode()


def json_attacks() -> Iterator[Attack]:
    """Yield JSON lines, decisions and annotations."""
    good = {"length": 1, "width": 2, "colour": "red", "label": ["cat", "dog"], "truth": "cat"}

    def lines(*odd: object, **changes: object) -> str:
        usual = [{**good, "length": row, "label": ["cat"]} for row in range(5)]
        return "\n".join(map(json.dumps, [*usual, {**good, **changes}, *odd]))

    contents: dict[str, bytes | str | Callable[[], bytes]] = {
        "great depth": lines() + "\n" + "[" * 100_000,
        "great depth in a cell": lines() + '\n{"label": ' + "[" * 3_000 + "]" * 3_000 + "}",
        "an integer of 5,000 digits": lines() + '\n{"length": ' + "9" * 5_000 + "}",
        "an integer of 300 digits": lines(length=10**300),
        "2**63": lines(length=2**63),
        "infinity": lines(length=float("inf")),
        "a label nan": lines(label=float("nan")),
        "a lone surrogate in a label": lines(label=["\ud800", "cat"]),
        "a lone surrogate in a name": lines(**{"\udfff": 1}),
        "an escape": lines(label=[ESCAPE]),
        "an escape in a name": lines(**{ESCAPE: ESCAPE}),
        "a NUL": lines(label=["a\0b"]),
        "labels of many types": lines(label=[None, True, 1, 1.5, [], {}]),
        "a label that is a number": lines(label=7),
        "labels in a dict": lines(label={"cat": -1}),
        "infinite weights": lines(label={"cat": float("inf")}),
        "lists as numbers": lines(length=[1]),
        "lists of lists": lines(length=[[1]] * 1000),
        "not objects": lines(1, "a", None, []),
        "empty objects": lines({}, {}),
        "the empty name": lines(**{"": 1}),
        "a name twice": lines() + '\n{"label": "cat", "label": "dog", "length": 1}',
        "a line of 20 MB": lines(colour="x" * 20_000_000),
        "1,500 keys": lambda: keys(1_500),
        "a million blank lines": lines() + "\n" * 10**6,
        "bad UTF-8": lines().encode() + b'\n{"\xff": 1}',
        "UTF-16": lines().encode("utf-16"),
        "markup": lines(label=[MARKUP, "cat"]),
    }
    for name, content in contents.items():
        yield Attack("jsonl", name, put("table.jsonl", content))
    # Only looked at: what a method takes to learn from them is another matter.
    audit = ("audit", "table.jsonl")
    yield Attack("jsonl", "5,000 keys", put("table.jsonl", lambda: keys(5_000)), (0,), audit)
    rows = (
        "9" * 400,
        "-1",
        "0",
        "1e3",
        "1.5",
        "nan",
        str(2**63),
        "\u0661",
        ESCAPE,
        "",
        "[" * 10_000,
    )
    for row in rows:
        name = f"a decision on row {row[:8]!r}"
        yield Attack("decisions csv", name, put("decisions.csv", f'row,label\n"{row}",cat\n'))
        entry = f'{{"row": {json.dumps(row)}, "label": "cat"}}\n'
        yield Attack("decisions jsonl", name, put("log.jsonl", entry))
        yield Attack("log of a review", name, put("log.jsonl", entry))
    for label in (ESCAPE, "\ud800", "[" * 10_000, "x" * 10**6, None, 7, 10**400, [], {}, True):
        entry = (
            json.dumps({"row": 1, "label": label}) + "\n"
            if label != 10**400
            else ('{"row": 1, "label": ' + "9" * 5_000 + "}\n")
        )
        for reader in ("decisions jsonl", "log of a review"):
            yield Attack(reader, f"a decision {str(label)[:8]!r}", put("log.jsonl", entry))
    for depth in ("[" * 100_000, '{"a":' * 100_000):
        yield Attack("log of a review", "great depth", put("log.jsonl", depth + "\n"))
        yield Attack("decisions jsonl", "great depth", put("log.jsonl", depth + "\n"))
        yield Attack("details", "great depth", put("clean.csv.details.json", depth))
        yield Attack("study.json", "great depth", put("results/small/study.json", depth))
        yield Attack("model, model.json", "great depth", put("model/model.json", depth))
        yield Attack("mark of unfinished work", "great depth", put("out.csv.partial/*.json", depth))
        yield Attack("record", "great depth", put("records/*.json", depth))
    for said in (ESCAPE, "\ud800", "cat|dog", "", MARKUP):
        votes = f'item,length,width,who,said\nV000,1,2,"{said}",cat\nV001,1,2,bob,"{said}"\n'
        for reader in ("annotations", "long table"):
            yield Attack(reader, f"an annotation {said[:8]!r}", put("votes.csv", votes))


def keys(count: int) -> bytes:
    """Return JSON lines of which each has a key that no other has."""
    lines = ({"label": "ab"[row % 2], "x": row, f"k{row}": 1} for row in range(count))
    return "\n".join(map(json.dumps, lines)).encode()
