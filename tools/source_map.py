"""Write the map of the source into docs/architecture.md: every file with its one-line purpose.

    .venv/bin/python tools/source_map.py            # write it
    .venv/bin/python tools/source_map.py --check    # only compare with what is there

The purposes are the first lines of the modules' docstrings, so the map cannot drift from the code.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- the map, by tools/source_map.py -->", "<!-- end of the map -->"


def purpose(path: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].rstrip(".").replace("``", "")


def lines(package: Path, depth: int = 0) -> Iterator[str]:
    """Yield a line for every file of a package, then those of the packages inside it."""
    indent = "  " * depth
    title = purpose(package / "__init__.py")
    yield f"{indent}{package.name + '/':{26 - len(indent)}}{title}".rstrip()
    for path in sorted(package.glob("*.py")):
        if path.name not in ("__init__.py", "__main__.py", "_version.py"):
            yield f"{indent}  {path.name:{24 - len(indent)}}{purpose(path)}"
    for folder in sorted(path for path in package.iterdir() if (path / "__init__.py").is_file()):
        yield from lines(folder, depth + 1)


def with_map(page: str) -> str:
    """Return the page with the map between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = "\n".join(lines(ROOT / "src" / "disambig"))
    return f"{before}{BEGIN}\n```text\n{drawn}\n```\n{END}{after}"


def main() -> int:
    """Write the map, or say that it is old."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    found = PAGE.read_text(encoding="utf-8")
    wanted = with_map(found)
    if parser.parse_args().check:
        if found != wanted:
            print("The map in docs/architecture.md is old. Run: python tools/source_map.py")
        return int(found != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
