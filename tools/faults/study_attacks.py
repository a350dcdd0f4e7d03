"""Attacks by study files, and by the file of a report from which it is made again."""

import json
from collections.abc import Iterator
from pathlib import Path

from attacks import ESCAPE, MARKUP, Attack, Make

# All others must be refused.
READABLE = (
    "an escape in about", "an escape in a title", "markup in a title", "a parameter of 10**18",
    "a parameter 2**70", "a name of 10,000 letters",
)  # fmt: skip


def study_attacks() -> Iterator[Attack]:
    """Yield study files."""

    def change(*changes: tuple[str, str], end: str = "") -> Make:
        def make(folder: Path) -> None:
            file = folder / "study.toml"
            text = file.read_text()
            for old, new in changes:
                assert old in text, old
                text = text.replace(old, new)
            file.write_text(text + end)

        return make

    escape = ESCAPE.replace("\x1b", "\\u001b").replace("\x07", "\\u0007").replace("\x9b", "\\u009b")
    for name, make in {
        "great depth": change(end="x = " + "[" * 1_000),
        "very great depth": change(end="x = " + "[" * 100_000),
        "tables of great depth": change(end="x = " + "{a=" * 1_000 + "1" + "}" * 1_000),
        "a dotted key of 1,000 parts": change(end=".".join("a" * 1_000) + " = 1"),
        "a dotted key of 100,000 parts": change(end=".".join("a" * 100_000) + " = 1"),
        "a table of 100,000 parts": change(end=f"[{'.'.join('a' * 100_000)}]\n"),
        "100,000 keys": change(end="\n".join(f"k{number} = 1" for number in range(100_000))),
        "20 MB of one string": change(("A study", "x" * 20_000_000)),
        "an escape in about": change(("A study", escape)),
        "an escape in a title": change(("my data", escape)),
        "an escape in a name": change(('"small"', f'"{escape}"')),
        "an escape in a method": change(('"plknn"', f'"{escape}"')),
        "an escape in a column": change(('"label"', f'"{escape}"')),
        "an escape in a metric": change(('"accuracy"', f'"{escape}"')),
        "an escape in a key": change(("about", f'"{escape}"')),
        "markup in a title": change(("my data", MARKUP)),
        "a name above the folder": change(('"small"', '"../../above"')),
        "an absolute name": lambda folder: change(('"small"', f'"{folder}/absolute"'))(folder),
        "a name of dots": change(('"small"', '".."')),
        "an empty name": change(('"small"', '""')),
        "a name with a NUL": change(('"small"', '"a\\u0000b"')),
        "a name of 10,000 letters": change(('"small"', f'"{"n" * 10_000}"')),
        "a file that does not end": change(('"table.csv"', '"/dev/zero"')),
        "a system file": change(('"table.csv"', '"/etc/passwd"')),
        "a folder of data": change(('"table.csv"', '"."')),
        "a module that is not there": change(('"plknn"', '"nowhere.at.all:Method"')),
        "a function of the system": change(('"plknn"', '"os:system"')),
        "a grid of 10**12": change(
            (
                "parameters = { n_neighbors = 2 }",
                f"grid = {{ {', '.join(f'p{i} = {list(range(100))}' for i in range(6))} }}",
            ),
        ),
        "a grid of 10**6 neighbours": change(
            (
                "parameters = { n_neighbors = 2 }",
                f"grid = {{ n_neighbors = {list(range(1, 10**5))} }}",
            )
        ),
        "a parameter of 10**18": change(("n_neighbors = 2", "n_neighbors = 1000000000000000000")),
        "a parameter 2**70": change(("n_neighbors = 2", f"n_neighbors = {2**70}")),
        "a parameter inf": change(("n_neighbors = 2", "n_neighbors = inf")),
        "corruption of 10**9": change(
            ('labels = "label"', "corruption = { p = [0.5], r = [1000000000] }")
        ),
        "300,000 shares": change(
            (
                'labels = "label"',
                f"corruption = {{ p = {[i / 10**6 for i in range(300_000)]}, r = [1] }}",
            )
        ),
        "bad UTF-8": lambda folder: (folder / "study.toml").write_bytes(b'name = "\xff\xfe"'),
        "a lone surrogate": change(("A study", "\\ud800")),
    }.items():
        yield Attack("study toml", name, make, () if name in READABLE else (2,))
    for count in (10**6, 10**9, 2**63, 10**30, -1, 0):
        for key in ("folds = 2", "repeats = 1", "seed = 0"):
            name = key.split()[0]
            make = change((key, f"{name} = {count}"))
            codes = () if name == "seed" else (2,)
            yield Attack("study toml", f"{name} = {count}", make, codes)


def code_in_study(folder: Path) -> None:
    """Name a class in the folder as the method of a study that is only to be reported."""
    (folder / "evil.py").write_text("open('marker', 'w').close()\nclass Evil: pass\n")
    file = folder / "results" / "small" / "study.json"
    content = json.loads(file.read_text())
    content["study"]["methods"] = [{"name": "evil:Evil"}]
    file.write_text(json.dumps(content))
