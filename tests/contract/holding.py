"""Whether what is held is counted alike wherever it is shown, with its reason."""

from postroad.model.entities import Lane, Queue
from postroad.model.explain import explain, explain_lane, explain_queue
from postroad.model.states import State
from tests.contract.bench import Bench


async def all_held(
    bench: Bench, queue: Queue, lane: Lane, messages: list[int], because: str
) -> None:
    """The only queue's two messages are held on its lane: lists, counts and explanations say so."""
    store = bench.store
    (row,) = await store.queue_page("default", "", 10)
    (lane_row,) = await store.lane_page("default", 0, 10)
    assert (row.waiting, row.held, row.because) == (0, 2, because)
    assert (lane_row.waiting, lane_row.held, lane_row.because) == (0, 2, because)
    assert await bench.counts() == {"held": 2}
    said = await store.overview(None)
    assert (said.count(State.waiting), said.count(State.held)) == (0, 2)
    for number in messages:
        facts = await store.message_facts(None, number)
        assert facts
        message = explain(facts, bench.now_ms)
        assert (message.state, message.because) == (State.held, because)
    queue_facts = await store.queue_facts("default", queue.name)
    lane_facts = await store.lane_facts(lane.id)
    assert queue_facts
    assert lane_facts
    for told in (explain_queue(queue_facts, bench.now_ms), explain_lane(lane_facts, bench.now_ms)):
        assert (told.waiting, told.held, told.because) == ({}, {0: 2}, because)
