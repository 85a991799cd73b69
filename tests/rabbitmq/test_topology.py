"""The topology as data: every way has an end, and nothing is left to a broker's defaults."""

from postroad.model.entities import LaneKey
from postroad.stores.rabbitmq.delays.delay_queues import LEVELS, key, walk
from postroad.stores.rabbitmq.topology.topology import Topology, handler_target


def test_every_binding_joins_things_that_are_declared() -> None:
    plan = Topology().plan()
    exchanges = {exchange.name for exchange in plan.exchanges}
    lines = {line.name for line in plan.broker_queues}
    for binding in plan.bindings:
        assert binding.source in exchanges
        assert binding.target in (exchanges if binding.to_exchange else lines)


def test_every_line_is_a_quorum_queue_that_rejects_and_counts_returns() -> None:
    for line in Topology().plan().broker_queues:
        assert line.arguments["x-queue-type"] == "quorum"
        assert line.arguments["x-overflow"] == "reject-publish"
        assert line.arguments["x-delivery-limit"]
        # Messages of a queue that expires are gone: never that.
        assert "x-expires" not in line.arguments


def test_every_end_of_a_delay_queue_has_a_catch_all() -> None:
    topology = Topology()
    plan = topology.plan()
    ends = {
        line.arguments["x-dead-letter-exchange"]
        for line in plan.broker_queues
        if ".delay." in line.name
    }
    assert len(ends) == LEVELS
    for exchange in plan.exchanges:
        if exchange.name in ends or exchange.name == topology.wake:
            assert exchange.arguments == {"alternate-exchange": topology.lost_exchange}


def test_another_number_of_shards_has_names_of_its_own() -> None:
    few, many = Topology(shards=8).plan(), Topology(shards=16).plan()
    assert not {line.name for line in few.broker_queues} & {
        line.name for line in many.broker_queues
    }


def test_a_lane_is_always_on_the_same_shard_and_lanes_are_spread() -> None:
    topology = Topology()
    keys = [LaneKey("webhook", f"https://{n}.example") for n in range(200)]
    targets = [topology.target(key) for key in keys]
    assert targets == [topology.target(key) for key in keys]
    assert set(targets) == set(topology.shard_targets())


def test_all_lanes_of_a_handler_share_its_line() -> None:
    lanes = [LaneKey("handler", "resize-image", shard=n) for n in range(16)]
    assert {Topology().target(lane) for lane in lanes} == {"handler.resize-image"}


def test_names_of_handlers_cannot_be_patterns() -> None:
    names = ["#", "*", "a.b", "a_b", "ä" * 200, "to.shard.1"]
    targets = [handler_target(name) for name in names]
    assert len(set(targets)) == len(names)
    for target in targets:
        assert target.count(".") == 1
        assert not {"#", "*"} & set(target)
        assert len(target) < 100


def test_the_longest_key_fits() -> None:
    hops = walk(31 << 40)
    assert len(key(hops, handler_target("x" * 300))) < 255
