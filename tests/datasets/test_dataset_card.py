"""Every named dataset has a complete card, and is found however its name is spelled."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import disambig.datasets
from disambig._core.errors import UnknownNameError
from disambig.datasets import list_datasets
from disambig.datasets.card import DatasetCard, all_cards, find_card

CARDS = list_datasets()
EVERY_CARD = pytest.mark.parametrize("card", CARDS, ids=[card.name for card in CARDS])


def test_the_catalogue_has_five_embedded_and_five_real_world_datasets() -> None:
    embedded = [card.name for card in CARDS if card.is_embedded]
    real_world = [card.name for card in CARDS if not card.is_embedded]
    assert embedded == ["abalone", "digits", "ecoli", "glass", "vehicle"]
    assert real_world == ["birdsong", "lost", "msrcv2", "soccer_player", "yahoo_news"]


def test_every_card_file_carries_the_name_of_its_dataset() -> None:
    folder = Path(disambig.datasets.__file__).parent / "cards"
    assert sorted(path.stem for path in folder.iterdir()) == [card.name for card in CARDS]


@EVERY_CARD
@pytest.mark.parametrize("field", ["title", "source", "licence", "citation"])
def test_every_card_says_what_it_is_whose_it_is_and_whom_to_cite(
    card: DatasetCard, field: str
) -> None:
    assert getattr(card, field).strip()


@EVERY_CARD
def test_every_source_is_a_page(card: DatasetCard) -> None:
    assert re.fullmatch(r"https?://\S+", card.source)


@EVERY_CARD
def test_every_hash_is_a_whole_digest(card: DatasetCard) -> None:
    assert re.fullmatch(r"sha256:[0-9a-f]{64}|git-blob:[0-9a-f]{40}", card.hash)


@EVERY_CARD
def test_every_real_world_card_has_addresses_and_warns_of_academic_use(card: DatasetCard) -> None:
    if card.is_embedded:
        assert card.urls == ()
    else:
        assert all(re.fullmatch(r"https?://[!-~]+\.rar", url) for url in card.urls)
        # What cannot be changed on its way first, then the same over plain HTTP.
        secure = [url for url in card.urls if url.startswith("https:")]
        assert list(card.urls) == [*secure, *(url.replace("https:", "http:") for url in secure)]
        assert "academic purpose only" in card.licence


def test_no_two_datasets_share_a_name() -> None:
    for card in CARDS:
        for name in (card.name, *card.aliases):
            assert [other.name for other in CARDS if other.is_called(name)] == [card.name]


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        all_cards()["glass"] = CARDS[0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("BirdSong", "birdsong"),
        ("bird-song", "birdsong"),
        ("MSRCv2", "msrcv2"),
        ("msrc", "msrcv2"),
        ("Soccer Player", "soccer_player"),
        ("soccer", "soccer_player"),
        ("Yahoo! News", "yahoo_news"),
        ("yahoo", "yahoo_news"),
        ("ecoil", "ecoli"),
    ],
)
def test_usual_spellings_find_the_card(spelling: str, name: str) -> None:
    assert find_card(spelling).name == name


@given(st.sampled_from(CARDS), st.data())
def test_case_and_punctuation_of_a_name_do_not_matter(
    card: DatasetCard, data: st.DataObject
) -> None:
    between = st.text(alphabet=" -_!.", max_size=2)
    pieces = [
        data.draw(between) + data.draw(st.sampled_from([letter, letter.upper()]))
        for letter in card.name.replace("_", "")
    ]
    assert find_card("".join(pieces)) is card


def test_a_slip_of_a_name_is_met_with_a_suggestion() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"There is no dataset called 'vehicel'\. Did you mean 'vehicle'\? Known: abalone, ",
    ):
        find_card("vehicel")


def test_a_name_like_no_other_is_met_with_the_list_alone() -> None:
    with pytest.raises(UnknownNameError, match=r"called 'qqq'\. Known: abalone, birdsong, digits"):
        find_card("qqq")
