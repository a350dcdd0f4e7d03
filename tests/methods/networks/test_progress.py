import os
import re
import sys
import threading

import pytest

from disambig import NCPDClassifier
from disambig.datasets import make_partial_label_dataset
from waiting import PATIENCE

DATA = make_partial_label_dataset(40, 3, 3, random_state=0)
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


class Terminal:
    """A terminal in the place of the output; what is written to it is kept."""

    def __enter__(self):
        self._reader, self._writer = os.openpty()
        self._parts = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._before = sys.stdout
        self._stream = sys.stdout = open(os.ttyname(self._writer), "w")  # noqa: PTH123
        return self

    def __exit__(self, *_):
        sys.stdout = self._before
        self._stream.close()
        os.close(self._writer)
        self._thread.join()
        os.close(self._reader)
        self.text = b"".join(self._parts).decode()

    def _read(self):
        while True:
            try:
                self._parts.append(os.read(self._reader, 1000))
            except OSError:  # nobody is left to write
                return


@pytest.fixture
def usual_terminal(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def method(**parameters):
    small = {"hidden": 8, "epochs": 5, "ramp_epochs": 3, "batch_size": 20, "random_state": 0}
    return NCPDClassifier(**{**small, "verbose": 1, **parameters})


def plain(text):
    """Return text without its colours and the movements of the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def last_state(text):
    return [line for line in re.split(r"[\r\n]+", plain(text)) if "NCPD" in line][-1]


@pytest.mark.usefixtures("usual_terminal")
def test_a_terminal_shows_how_far_it_is_and_how_it_goes():
    with Terminal() as terminal:
        history = method().fit(DATA.X, DATA.candidates).history_
    line = last_state(terminal.text)
    assert "5/5" in line
    assert "T 1.00" in line
    assert f"simple {history['simple'][-1]:.2f}" in line
    assert f"covered {history['covering_rate'][-1]:.3f}" in line


@pytest.mark.usefixtures("usual_terminal")
def test_the_cursor_is_there_again_when_it_is_done():
    with Terminal() as terminal:
        method().fit(DATA.X, DATA.candidates)
    assert terminal.text.rindex(SHOW_CURSOR) > terminal.text.rindex(HIDE_CURSOR)


class Interruption:
    def on_epoch_end(self, training):
        raise KeyboardInterrupt


@pytest.mark.usefixtures("usual_terminal")
def test_the_cursor_is_there_again_when_training_was_interrupted():
    with Terminal() as terminal:
        before = set(threading.enumerate())
        with pytest.raises(KeyboardInterrupt):
            method(callbacks=[Interruption()]).fit(DATA.X, DATA.candidates)
        for thread in set(threading.enumerate()) - before:
            thread.join(PATIENCE)  # it may be at its last words
        drawing = set(threading.enumerate()) - before
        for thread in drawing:
            thread.stop()  # or it would go on in the tests that follow
            thread.join()
    assert not drawing
    assert terminal.text.rindex(SHOW_CURSOR) > terminal.text.rindex(HIDE_CURSOR)


@pytest.mark.usefixtures("usual_terminal")
def test_a_training_that_stops_early_leaves_the_bar_there():
    everything = (DATA.X, [[True] * 3] * 40)  # no epoch is better than the first
    stopping = method(validation=everything, early_stopping=2)
    with Terminal() as terminal:
        stopping.fit(DATA.X, DATA.candidates)
    assert "3/5" in last_state(terminal.text)


@pytest.mark.usefixtures("usual_terminal")
def test_a_finished_checkpoint_shows_a_full_bar(tmp_path):
    finished = method(checkpoint=tmp_path / "checkpoint", verbose=0).fit(DATA.X, DATA.candidates)
    with Terminal() as terminal:
        finished.set_params(verbose=1).fit(DATA.X, DATA.candidates)
    assert "5/5" in last_state(terminal.text)


@pytest.mark.usefixtures("usual_terminal")
def test_nothing_is_shown_unless_asked_for():
    with Terminal() as terminal:
        method(verbose=0).fit(DATA.X, DATA.candidates)
    assert terminal.text == ""


@pytest.mark.usefixtures("usual_terminal")
def test_nothing_is_written_where_nobody_watches(capfd):
    method().fit(DATA.X, DATA.candidates)
    assert capfd.readouterr() == ("", "")


def test_it_can_be_forced_where_no_terminal_is(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    method().fit(DATA.X, DATA.candidates)
    assert "5/5" in last_state(capsys.readouterr().out)


def test_what_is_shown_changes_nothing_that_is_learned():
    shown = method().fit(DATA.X, DATA.candidates).predict_proba(DATA.X)
    assert (shown == method(verbose=0).fit(DATA.X, DATA.candidates).predict_proba(DATA.X)).all()
