"""First copies are packed by a short way: it must say what the long one says."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.model.entities import Draft, Policy, Queue
from postroad.model.ids import made_at_ms
from postroad.model.ladder import Exponential
from postroad.model.states import NEVER
from postroad.stores.rabbitmq.envelope import of_draft, pack, unpack
from postroad.stores.rabbitmq.publishing.header_template import HeaderTemplate, shared_by
from postroad.stores.rabbitmq.publishing.recent import RECENT_MAX, RecentMessages
from postroad.stores.rabbitmq.wire.properties import PERSISTENT
from postroad.stores.rabbitmq.wire.properties import unpack as unpack_properties

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40
)
times = st.integers(0, 1 << 62)
LADDERS = st.builds(Exponential, retries=st.integers(1, 9), base_ms=st.integers(1, 1 << 20))
queues = st.builds(
    Queue,
    id=st.just(1),
    tenant=texts,
    name=texts,
    policy=st.builds(Policy, ladder=LADDERS),
    lanes=st.just((5, 6, 7)),
)
drafts = st.builds(
    Draft,
    id=st.integers(0, (1 << 63) - 1),
    queue=st.just(1),
    lane=st.sampled_from((5, 6, 7)),
    order_group=st.just(0),
    priority=st.integers(-9, 9),
    accepted_at_ms=times,
    due_ms=times,
    expires_at_ms=times | st.just(NEVER),
    body=st.binary(max_size=40),
    headers=st.binary(max_size=40),
)
plain = st.builds(
    lambda draft: replace(
        draft,
        priority=0,
        accepted_at_ms=made_at_ms(draft.id),
        due_ms=made_at_ms(draft.id),
        expires_at_ms=NEVER,
        headers=b"",
    ),
    drafts,
)


@given(queues, drafts, drafts | plain)
def test_a_stamped_copy_says_what_a_packed_one_says(
    queue: Queue, first: Draft, second: Draft
) -> None:
    stamp = HeaderTemplate(queue, "handler.any", shared_by(first, queue))
    for draft in (first, second):
        if draft.lane != first.lane:
            continue
        wanted = of_draft(draft, queue)
        properties = unpack_properties(stamp.pack(draft))
        assert unpack(properties.headers, draft.body) == wanted
        assert properties.message_id == pack(wanted)["id"]
        assert properties.delivery_mode == PERSISTENT


def test_the_last_ones_are_known_and_their_number_is_bounded() -> None:
    recent = RecentMessages()
    for number in range(RECENT_MAX * 3 + 5):
        recent.add(Draft(number, 1, 5, 0, 0, number, number, NEVER, b"a body"))
    last = RECENT_MAX * 3 + 4
    found = [number for number in range(last + 1) if recent.get(number) is not None]
    assert found[-RECENT_MAX:] == list(range(last - RECENT_MAX + 1, last + 1))
    assert len(found) <= 2 * RECENT_MAX
    sent = recent.get(last)
    assert sent is not None
    assert sent == (1, 5, last, last, NEVER)
