import pytest
import torch

from disambig._core.errors import DisambigError, ParameterError
from disambig.engine.device import choose_device, denormals_flushed

no_card = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA card here")


@pytest.fixture(autouse=True)
def _flush_setting():
    yield
    torch.set_flush_denormal(False)


def flushes():
    """Whether numbers too small for full precision become zero."""
    return (torch.tensor([1e-320], dtype=torch.float64) * 2).item() == 0


def test_auto_is_a_card_where_there_is_one():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert choose_device("auto").type == expected


def test_devices_are_taken_by_name_or_as_they_are():
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("device", ["gpu", "", "cpu:x", "CPU please", 1.5, ["cpu"], object()])
def test_nonsense_is_refused(device):
    message = r"'device' must be 'auto' or a device of torch such as 'cpu' or 'cuda:0'. Got .* inst"
    with pytest.raises(ParameterError, match=message):
        choose_device(device)


def test_no_device_at_all_is_refused():
    with pytest.raises(ParameterError, match="Got None instead"):
        choose_device(None)


@no_card
@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("cuda", 1)])
def test_a_card_that_is_not_there_is_refused(device):
    with pytest.raises(
        DisambigError, match=r"is nothing that torch can compute on here .* Use device='auto'"
    ):
        choose_device(device)


@pytest.mark.parametrize("before", [False, True])
def test_denormal_numbers_are_zero_in_the_block_and_as_before_after_it(before):
    torch.set_flush_denormal(before)
    with denormals_flushed():
        assert flushes()
    assert flushes() == before


@pytest.mark.parametrize("before", [False, True])
def test_denormal_numbers_are_as_before_after_a_block_that_fails(before):
    torch.set_flush_denormal(before)
    with pytest.raises(KeyError), denormals_flushed():
        raise KeyError("any")
    assert flushes() == before


def test_blocks_can_be_nested():
    with denormals_flushed():
        with denormals_flushed():
            assert flushes()
        assert flushes()
    assert not flushes()


def test_numbers_of_full_precision_stay_what_they_are_in_the_block():
    values = torch.tensor([1e-300, 1.0, 1e300], dtype=torch.float64)
    with denormals_flushed():
        assert torch.equal(values * 1.0, values)
