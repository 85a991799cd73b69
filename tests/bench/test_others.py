"""What others use of the machine is seen; what this process and its children use is not theirs."""

import os
import subprocess
import sys
import time

import pytest

from bench import others
from bench.others import Others

BURN = "import time; print(flush=True); end = time.time() + 60\nwhile time.time() < end: pass"


def burner() -> subprocess.Popen[bytes]:
    return subprocess.Popen((sys.executable, "-c", BURN), stdout=subprocess.PIPE)


def test_a_child_that_works_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same work, once counted as ours and once, by who asks, as somebody else's."""
    own = os.getpid()
    with burner() as child:
        assert child.stdout is not None
        child.stdout.readline()
        start = others._ticks_of(own), others._ticks_of(child.pid)
        end_s = time.monotonic() + 30
        while others._ticks_of(child.pid) < start[1] + 20 and time.monotonic() < end_s:
            time.sleep(0.05)
        grown = others._ticks_of(child.pid) - start[1]
        assert others._ticks_of(own) - start[0] >= grown - 1 >= 19
        child.kill()
    monkeypatch.setattr(others, "_look", iter([(0, 0, 0), (1_000, 700, 100)]).__next__)
    assert Others().share() == pytest.approx(0.2)


def test_where_nothing_can_be_read_nobody_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "_look", lambda: (0, 0, 0))
    assert Others().share() == 0
