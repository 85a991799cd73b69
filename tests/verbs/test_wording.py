"""How explanations are written: for programs, and the words for names and spans."""

import re

import msgspec
import pytest

from postroad.model.explain import Explanation
from postroad.model.wording import duration_text, exact_duration, public_name
from tests.rig.world import World
from tests.verbs.states import lived, over_quota


def test_an_explanation_is_plain_data_for_programs() -> None:
    """As JSON, with the same field names."""

    def look(_world: World, said: Explanation) -> None:
        data = msgspec.json.decode(msgspec.json.encode(said))
        assert data["state"] == "held"
        assert data["blocks"][0]["kind"] == "quota"
        assert data["next"]["what"] == "probe"

    lived(over_quota, look)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("resize", "resize"),
        ("https://example.com/hook/T0K3N", "https://example.com/hook/…"),
        ("https://user:pass@example.com:8443/x", "https://example.com:8443/x"),
        ("https://example.com?key=T0K3N", "https://example.com"),
    ],
)
def test_of_an_address_no_credential_query_or_token_is_told(name: str, shown: str) -> None:
    assert public_name(name).partition("~")[0] == shown


def test_two_queues_on_one_server_can_be_told_apart() -> None:
    names = [f"https://example.com/hooks/{part}" for part in ("orders", "A1b2", "C3d4", "x?t=1")]
    shown = [public_name(name) for name in names]
    assert shown[0] == names[0]
    assert len(set(shown)) == len(names)
    assert not re.search("A1b2|C3d4|t=1", " ".join(shown))


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0 s"), (1_500, "1 s"), (61_000, "1 min 1 s"), (90_061_000, "1 d 1 h")],
)
def test_a_span_is_told_in_its_two_largest_units(ms: int, words: str) -> None:
    assert duration_text(ms) == words


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (1_500, "1.5 s"),
        (90_000, "1 min 30 s"),
        (3_600_000, "1 h"),
        (90_061_250, "1 d 1 h 1 min 1.25 s"),
        (31_622_399_999, "365 d 23 h 59 min 59.999 s"),
    ],
)
def test_an_interval_is_told_as_it_is(ms: int, shown: str) -> None:
    assert exact_duration(ms) == shown
