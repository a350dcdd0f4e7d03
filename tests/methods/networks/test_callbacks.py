"""A callback that nothing would ever call is refused."""

import pytest

from disambig import NCPDClassifier
from disambig._core.errors import ParameterError
from disambig.engine.training import EVENTS, check_callbacks

X, Y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"]


def listener(event):
    heard = []
    return type("Listener", (), {event: lambda self, training: heard.append(training)})(), heard


@pytest.mark.parametrize("event", EVENTS)
def test_one_of_the_methods_is_enough(event):
    check_callbacks([listener(event)[0]])
    check_callbacks([])


def test_a_callback_that_is_accepted_is_called():
    callback, heard = listener("on_epoch_end")
    method = NCPDClassifier(hidden=4, epochs=3, ramp_epochs=1, callbacks=[callback])
    method.fit(X, Y)
    assert len(heard) == 3


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        ([print], "at least one of the methods on_fit_start, .*Got <built-in function print>"),
        ([listener("on_fit_end")[0], object()], "Got <object object"),
        ([type("Odd", (), {"on_epoch_end": 3})()], "which has none"),
        (print, "must be a list of objects"),
        ("print", "must be a list of objects"),
    ],
)
def test_other_callbacks_are_refused(callbacks, message):
    with pytest.raises(ParameterError, match=message):
        NCPDClassifier(callbacks=callbacks).fit(X, Y)
