"""Explanations of what waits in a feed, held against what the next read gives."""

import pytest

from tests.verbs.feed_foretelling import foretell_feeds


@pytest.mark.wide
def test_explain_is_right_about_feeds() -> None:
    """Random publishes, reads, acks, leases that end and cancels: a message that can be read now is
    in the next read, and no other is."""
    checked, broken = foretell_feeds(first_seed=7, worlds=4)
    assert broken == []
    for what in ("read now", "read later", "acked", "cancelled"):
        assert checked[what] >= 10, checked
