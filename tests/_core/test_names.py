import pytest

from disambig._core.messages import bare_name, closest_name


@pytest.mark.parametrize(
    ("written", "bare"),
    [("Yahoo! News", "yahoonews"), ("bird-song", "birdsong"), ("MSRCv2", "msrcv2"), ("!?", "")],
)
def test_bare_name_drops_case_and_punctuation(written, bare):
    assert bare_name(written) == bare


def test_closest_name_ignores_punctuation():
    assert closest_name("Soccer-Plaier", ["lost", "soccer_player"]) == "soccer_player"


def test_closest_name_is_none_when_nothing_is_near():
    assert closest_name("zebra", ["lost", "glass"]) is None
