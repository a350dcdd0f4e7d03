from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from disambig._core.errors import DisambigError, ParameterError
from disambig.engine.device import choose_device, denormals_flushed, threads_for
from engine.torch_settings import denormals_are_zero, threads

no_card = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA card here")


@pytest.fixture(autouse=True)
def _flush_setting():
    yield
    torch.set_flush_denormal(False)


@no_card
def test_auto_is_the_cpu_where_there_is_no_card():
    assert choose_device("auto") == torch.device("cpu")


def test_auto_is_a_card_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")


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
        assert denormals_are_zero()
    assert denormals_are_zero() == before


@pytest.mark.parametrize("before", [False, True])
def test_denormal_numbers_are_as_before_after_a_block_that_fails(before):
    torch.set_flush_denormal(before)
    with pytest.raises(KeyError), denormals_flushed():
        raise KeyError("any")
    assert denormals_are_zero() == before


def test_blocks_can_be_nested():
    with denormals_flushed():
        with denormals_flushed():
            assert denormals_are_zero()
        assert denormals_are_zero()
    assert not denormals_are_zero()


def test_numbers_of_full_precision_stay_what_they_are_in_the_block():
    values = torch.tensor([1e-300, 1.0, 1e300], dtype=torch.float64)
    with denormals_flushed():
        assert torch.equal(values * 1.0, values)


@pytest.mark.parametrize(
    ("multiplications", "expected"), [(0, 1), (10_000, 1), (1e9, 1), (1e12, 4), (float("inf"), 4)]
)
def test_as_many_threads_as_pay(multiplications, expected):
    with threads(4):
        with threads_for(multiplications):
            assert torch.get_num_threads() == expected
        assert torch.get_num_threads() == 4


def test_more_work_never_takes_fewer_threads():
    counts = []
    with threads(4):
        for billions in range(64):
            with threads_for(1e9 * billions):
                counts.append(torch.get_num_threads())
    assert counts == sorted(counts)
    assert set(counts) == {1, 2, 3, 4}


def test_threads_are_never_more_than_were_allowed():
    with threads(2), threads_for(1e12):
        assert torch.get_num_threads() == 2


def test_all_threads_are_there_again_after_a_block_that_fails():
    with threads(4):
        with pytest.raises(KeyError), threads_for(0):
            raise KeyError("any")
        assert torch.get_num_threads() == 4


def test_a_block_in_one_python_thread_leaves_the_others_as_they_are():
    with threads(3), ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 3
        with threads_for(0):
            assert torch.get_num_threads() == 1
            assert pool.submit(torch.get_num_threads).result() == 3
