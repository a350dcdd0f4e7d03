"""What is said where another process does not answer."""

import pytest

from disambig._core.errors import ParameterError, TrainingError
from disambig.engine.process_group import (
    is_first_process,
    others_answer,
    rank_and_size,
    wait_for_other_processes,
)


def test_a_process_alone_is_the_first_and_waits_for_nobody():
    assert rank_and_size() == (0, 1)
    assert is_first_process()
    wait_for_other_processes()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "[/build/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:46986. "
            "This is typically caused by a remote worker crashing. Check the logs.",
            "(Connection closed by peer [127.0.0.1]:46986)",
        ),
        ("Timed out after 600000 ms\nStack of the other process", "(Timed out after 600000 ms)"),
    ],
)
def test_an_exchange_that_fails_is_said_in_the_words_of_the_library(said, reason):
    with pytest.raises(TrainingError) as error, others_answer():
        raise RuntimeError(said)
    assert reason in str(error.value)
    assert str(error.value).startswith("Another process of this training has ended, or does not")


def test_a_group_that_does_not_serve_the_device_is_not_taken_for_a_dead_process():
    said = "No backend type associated with device type cpu"
    with pytest.raises(ParameterError, match=rf"\({said}\). Begin it") as error, others_answer():
        raise RuntimeError(said)
    assert "another 'device'" in str(error.value)
