"""What was public in the last release is public now (docs/stability.md)."""

import postroad
from scripts.public_face import baseline, gone, public_face


def test_nothing_that_was_public_is_gone() -> None:
    """Before the first release, `scripts/keep_release.py --public` writes the list again."""
    assert gone(baseline(), public_face()) == []


def test_a_name_a_parameter_a_route_a_field_or_a_label_that_is_removed_is_told() -> None:
    now = set(public_face())
    for line in (
        "python postroad.Reject",
        "python postroad.Postroad.send delay",
        "python postroad.Postroad.lanes.limit hours",
        "python postroad.errors.BadInput",
        "http POST /v1/messages",
        "http problem urn:postroad:problem:bad-input",
        "http field MessageView.state",
        "http GET /v1/messages ?limit",
        "http GET /v1/messages/{id} 200 MessageView",
        "command postroad send --key",
        "command exit 2 BadInput",
        "command postroad store restored --json RestoredTotals.due",
        "metric postroad_messages state",
        "setting limits.drain_s",
        "table arrival.body",
    ):
        assert line in now
        assert gone(baseline(), now - {line}) == [line]


def test_every_export_is_in_the_list() -> None:
    assert {f"python postroad.{name}" for name in postroad.__all__} <= set(public_face())
