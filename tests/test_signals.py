"""Ctrl-C is put off, not lost."""

import signal
import threading

import pytest

from portbench.signals import deferred_interrupts


def test_ctrl_c_comes_after_the_block() -> None:
    done = False
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        done = True
    assert done
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_nothing_changes_without_one_or_when_the_block_fails() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deferred_interrupts():
        pass
    with pytest.raises(ValueError, match="own"), deferred_interrupts():
        raise ValueError("own")
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_may_use_it() -> None:
    done = threading.Event()

    def work() -> None:
        with deferred_interrupts():
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done.is_set()
