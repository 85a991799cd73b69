"""Maps the reply codes of the broker to named errors."""

from typing import Final

from postroad.model.errors import (
    AccessRefused,
    BrokerForgot,
    BrokerLost,
    NoSuchVhost,
    ServerTooOld,
    StoreError,
    TopologyDiffers,
)

ACCESS_REFUSED: Final = 403
NOT_FOUND: Final = 404
PRECONDITION_FAILED: Final = 406
NOT_ALLOWED: Final = 530
INTERNAL_ERROR: Final = 541


def of_channel(code: int, text: str) -> StoreError:
    """The error for a channel that the broker closed."""
    if code == ACCESS_REFUSED:
        return AccessRefused(f"RabbitMQ: {text}. Grant the user configure, write and read")
    if code == NOT_FOUND:
        return BrokerForgot(f"RabbitMQ: {text}")
    if code == PRECONDITION_FAILED and "inequivalent arg" in text:
        return TopologyDiffers(
            f"RabbitMQ: {text}. Something else declared it, or an operator's policy changed it:"
            " delete it when it is empty, or give this road a prefix of its own"
        )
    return BrokerLost(f"RabbitMQ closed the channel: {code} {text}")


def of_connection(code: int, text: str, where: str) -> StoreError:
    """The error for a connection that the broker closed."""
    if code == ACCESS_REFUSED:
        return AccessRefused(
            f"{where} does not let this user in: check user and password"
            " (a remote `guest` is refused by default)"
        )
    if code == NOT_ALLOWED and "not found" in text:
        return NoSuchVhost(
            f"{where}: no such vhost. Make it with `rabbitmqctl add_vhost`, or name another"
        )
    if code == INTERNAL_ERROR and "feature flag is disabled" in text:
        return ServerTooOld(
            f"{where} has feature flags off that Postroad needs, quorum_queue and stream_queue:"
            " run `rabbitmqctl enable_feature_flag all`, after all its nodes are upgraded"
        )
    if code == INTERNAL_ERROR:
        return BrokerLost(
            f"{where} closed the connection: {code} {text}. Its own log says why. Where that names"
            " `rabbit_fifo_dlx_sup`, restart that node: until then nothing leaves its delay queues"
        )
    if code == NOT_ALLOWED:
        return AccessRefused(f"{where}: {text}. Grant it with `rabbitmqctl set_permissions`")
    return BrokerLost(f"{where} closed the connection: {code} {text}")
