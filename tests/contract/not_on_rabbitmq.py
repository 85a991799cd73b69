"""Tests of the contract suite that are not about a store on RabbitMQ, each with its reason."""

from typing import Final

NOT_ON_RABBITMQ: Final[frozenset[str]] = frozenset()
