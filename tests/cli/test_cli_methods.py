"""``disambig methods`` shows every method with its paper."""

from collections.abc import Callable

from click.testing import Result

from disambig.methods.catalogue import all_methods

Invoke = Callable[..., Result]


def rows(output: str) -> dict[str, list[str]]:
    """Return the cells behind every name."""
    lines = [line.strip("│").split("│") for line in output.splitlines() if line.startswith("│")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_every_method_is_listed_with_its_class_and_title(invoke: Invoke) -> None:
    result = invoke("methods")
    assert result.exit_code == 0
    expected = {name: [m.__name__, m.card.title] for name, m in all_methods().items()}
    assert {name: cells[:2] for name, cells in rows(result.output).items()} == expected


def test_a_published_method_comes_with_its_paper_and_year(invoke: Invoke) -> None:
    paper = rows(invoke("methods").output)["plknn"][-1]
    assert paper.startswith("Hüllermeier and Beringer")
    assert paper.endswith("2006")


def test_a_reference_has_no_paper(invoke: Invoke) -> None:
    assert rows(invoke("methods").output)["oracle"][-1] == "-"


def test_names_and_classes_are_whole_in_a_terminal_of_80_columns(invoke: Invoke) -> None:
    words = invoke("methods", COLUMNS="80").output.split()
    for name, method in all_methods().items():
        assert name in words
        assert method.__name__ in words
