"""The benchmark on RabbitMQ, small: it comes through, and counts what it says it counts."""

from pathlib import Path

from proof.bench_tests.rehearsal import rehearse

LENIENT = """
[every]
counts-agree = 1.0
[rabbitmq]
receive-times-celery-and-dramatiq = 0.0
confirmed-send-times-aio-pika = 0.0
1-ms-over-p99-handed-over = 0.0
"""


def test_the_rabbitmq_benchmark_runs_end_to_end(tmp_path: Path) -> None:
    content = rehearse(tmp_path, "rabbitmq", 6, LENIENT)
    assert {"send-100-awaiting", "send-1000-awaiting", "receive", "handed-over"} <= set(
        content["ours"]
    )
    assert {"aio-pika-100-awaiting", "celery", "dramatiq"} <= set(content["peers"])
    for side in ("ours", "peers"):
        for name, figures in content[side].items():
            assert figures["accepted"] == figures["recorded"] == figures["received"] > 0, name
