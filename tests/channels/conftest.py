"""A road on either database, and a provider in Twilio's form."""

from tests.campaigns.conftest import (  # noqa: F401 - fixtures
    dsn,
    one_provider,
    provider,
    senders_are_told_sooner,
    within,
)
