"""``disambig methods`` shows every method with its paper."""

from collections.abc import Callable

from click.testing import Result

from disambig.methods.registry import all_methods

Invoke = Callable[..., Result]


def entries(output: str) -> dict[str, list[str]]:
    """Return the lines beside every name."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        if line.startswith("│"):
            name, text = (cell.strip() for cell in line.strip("│").split("│"))
            if name:
                latest = found.setdefault(name, [])
            latest.append(text)
    return found


def test_every_method_is_listed_with_its_title_and_class(invoke: Invoke) -> None:
    result = invoke("methods")
    assert result.exit_code == 0
    expected = {name: [m.card.title, m.__name__] for name, m in all_methods().items()}
    assert {name: lines[:2] for name, lines in entries(result.output).items()} == expected


def test_a_published_method_comes_with_its_paper_and_year(invoke: Invoke) -> None:
    paper = entries(invoke("methods").output)["plknn"][-1]
    assert paper.startswith("Hüllermeier and Beringer")
    assert paper.endswith("2006")


def test_a_reference_has_no_paper(invoke: Invoke) -> None:
    assert entries(invoke("methods").output)["oracle"][-1] == "OracleClassifier"


def test_names_and_classes_are_whole_in_a_terminal_of_80_columns(invoke: Invoke) -> None:
    words = invoke("methods", COLUMNS="80").output.split()
    for name, method in all_methods().items():
        assert name in words
        assert method.__name__ in words
