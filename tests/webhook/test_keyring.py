"""Secrets at rest: sealed, bound to their row, opened by any key of the ring."""

import itertools
import os
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.model.errors import BadKey
from postroad.model.keyring import KeyRing, new_key, read_keys
from postroad.verbs.sealing import key_ring, require_keys
from tests.cli.running import postroad

OLD, NEW = ("k1", b"1" * 32), ("k2", b"2" * 32)


@given(st.binary(), st.text())
def test_what_is_sealed_opens_at_its_place_and_nowhere_else(value: bytes, place: str) -> None:
    ring = KeyRing([OLD], os.urandom)
    sealed = ring.seal(value, place)
    assert ring.open("k1", sealed, place) == value
    assert len(value) < 4 or value not in sealed
    with pytest.raises(BadKey, match="moved"):
        ring.open("k1", sealed, place + "x")


def test_the_first_key_seals_and_any_opens() -> None:
    sealed = KeyRing([OLD], os.urandom).seal(b"hush", "row 1")
    both = KeyRing([NEW, OLD], os.urandom)
    assert both.first == "k2"
    assert both.open("k1", sealed, "row 1") == b"hush"
    with pytest.raises(BadKey, match="'k1', which this road does not have"):
        KeyRing([NEW], os.urandom).open("k1", sealed, "row 1")


def test_a_changed_byte_is_noticed_and_the_error_tells_nothing() -> None:
    ring = KeyRing([OLD], os.urandom)
    sealed = ring.seal(b"hush", "row")
    for place in range(len(sealed)):
        broken = bytes(b ^ (n == place) for n, b in enumerate(sealed))
        with pytest.raises(BadKey) as error:
            ring.open("k1", broken, "row")
        assert "hush" not in str(error.value)
    for length in range(len(sealed)):
        with pytest.raises(BadKey):
            ring.open("k1", sealed[:length], "row")


def test_a_nonce_is_never_used_twice() -> None:
    ring = KeyRing([OLD], os.urandom)
    sealed = {ring.seal(b"same", "row") for _ in range(1_000)}
    assert len({value[1:13] for value in sealed}) == 1_000


def test_a_ring_without_keys_leaves_values_as_they_are() -> None:
    ring = KeyRing([], os.urandom)
    assert not ring
    assert ring.open(ring.first, ring.seal(b"clear", "row"), "row") == b"clear"


def test_keys_are_read_from_lines_or_commas() -> None:
    counter = itertools.count()
    first, second = (new_key(f"k{next(counter)}", os.urandom) for _ in range(2))
    assert [name for name, _ in read_keys(f"{first},{second}")] == ["k0", "k1"]
    assert read_keys(f"\n{first}\n{second}\n") == read_keys(f"{first}, {second}")


@pytest.mark.parametrize(
    "text", ["k1", "k1:", "k1:AAAA", ":" + b64encode(b"1" * 32).decode(), "k1:" + "!" * 44]
)
def test_a_bad_key_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(BadKey) as refused:
        read_keys(text)
    assert text not in str(refused.value) or len(text) < 5
    with pytest.raises(BadKey, match="two keys are named k:"):
        read_keys("\n".join([new_key("k", os.urandom)] * 2))


def test_keys_come_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTROAD_KEYS", raising=False)
    monkeypatch.delenv("POSTROAD_KEYS_FILE", raising=False)
    with pytest.raises(BadKey, match="postroad keys new"):
        require_keys(key_ring())
    path = tmp_path / "keys"
    with pytest.raises(BadKey, match="cannot be read"):
        key_ring(str(path))
    path.write_text("")
    with pytest.raises(BadKey, match="holds no key"):
        key_ring(str(path))
    path.write_text(new_key("filed", os.urandom))
    assert key_ring(str(path)).first == "filed"
    monkeypatch.setenv("POSTROAD_KEYS", new_key("given", os.urandom))
    ring = key_ring(str(path))
    assert ring.first == "given"
    require_keys(ring)


def test_each_new_key_has_a_name_of_its_own() -> None:
    """So that it can be put before the old one."""
    made = [postroad("keys", "new").stdout.strip() for _ in range(2)]
    assert len(read_keys("\n".join(made))) == 2
