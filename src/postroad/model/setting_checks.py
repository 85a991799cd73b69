"""Checks of single settings, whoever gave them: BadSetting names the one that makes no sense."""

import math
import re
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Final

from postroad.model.bounce_address import read_bounces
from postroad.model.durations import CENTURY_S
from postroad.model.egress import read_proxies
from postroad.model.errors import BadInput, BadSetting
from postroad.model.hubs import KnownHub, is_number
from postroad.model.mail_address import normal_mail
from postroad.model.mail_report import read_soft_bounces
from postroad.model.mail_settings import MailSettings
from postroad.model.redaction import Redaction
from postroad.model.relay import read_relay
from postroad.model.webhook import WebhookRules

SOURCE: Final = re.compile(r"[!#-;=?-Z_a-z~]{1,200}")
MAY_BE_ZERO: Final = ("limits.keep_bodies_ms", "limits.linger_ms", "watchdog_s")
DSN: Final = ("sqlite:///", "postgresql://", "postgres://", "amqp://", "amqps://")
REMOTE_DSN: Final = ("http://", "https://", "road:///")
COUNT_MAX: Final = (1 << 31) - 1
"""Maximum of what is counted: integers of databases, and far more than any road has."""
BYTES_MAX: Final = 1 << 53
ENDINGS: Final = (
    ("watchdog_s", math.inf),  # it has bounds of its own
    ("_ms", int(CENTURY_S) * 1000),
    ("_s", int(CENTURY_S)),
    ("_bytes_max", BYTES_MAX),
    ("ports", 65_535),
)
"""The maxima of numbers by the ends of their names."""


def check_number(name: str, number: float) -> None:
    """Numbers are above zero, and small enough for the clock and every database."""
    if not number > 0 and not (name in MAY_BE_ZERO and number == 0):  # so that NaN is none
        raise BadSetting(f"{name} = {number}: give a number above zero")
    most = next((most for end, most in ENDINGS if name.endswith(end)), COUNT_MAX)
    if number > most:
        raise BadSetting(f"{name} = {number}: give at most {most}")


def check_dsn(dsn: str) -> None:
    """An address is one of a store, or of another process."""
    if not dsn:
        raise BadSetting("dsn is empty: give sqlite:///FILE, postgresql://… or amqp://…")
    if not dsn.startswith((*DSN, *REMOTE_DSN)):
        told = repr(dsn) if "@" not in dsn else dsn.partition(":")[0]  # the rest has a password
        raise BadSetting(
            f"dsn: {told} is not understood: use sqlite:///FILE, postgresql://… or amqp://…"
        )


def check_hubs(hubs: Iterable[KnownHub]) -> None:
    """Hubs have different servers, and each can be reached as it is written."""
    servers = [hub.server for hub in hubs]
    if twice := {server for server in servers if servers.count(server) > 1}:
        raise BadSetting(f"hubs: {min(twice)} is named twice")
    for hub in hubs:
        check_networks("hubs.allow", hub.allow)
        if hub.url.startswith("ws:") and not hub.allow and not is_number(hub.place[0]):
            raise BadSetting(
                f"hubs: {hub.url} would show its token to everybody on the way: use wss://, or "
                "name the network of the hub in allow"
            )


def check_mail(mail: MailSettings) -> None:
    """The group `mail`."""
    try:
        _ = mail.relay and read_relay(mail.relay)  # whether it can be read
    except BadInput as error:
        raise BadSetting(f"mail.relay: {error}") from None
    if mail.sender:
        address = mail.sender.strip().rpartition("<")[2].removesuffix(">")
        try:
            _ = normal_mail(address)  # whether it is one
        except BadInput as error:
            raise BadSetting(f"mail.sender: {error}") from None
    if mail.public_url and not mail.public_url.startswith(("https://", "http://")):
        raise BadSetting("mail.public_url: give the address of this server, as https://…")
    if mail.bounce_domain:
        try:
            _ = normal_mail(f"b@{mail.bounce_domain}")  # whether it is a domain
        except BadInput as error:
            raise BadSetting(f"mail.bounce_domain: {error}") from None
    if mail.bounces and not mail.bounce_domain:
        raise BadSetting("mail.bounces: set mail.bounce_domain too, the domain of return paths")
    for name, read in (("bounces", read_bounces), ("soft_bounces", read_soft_bounces)):
        try:
            _ = getattr(mail, name) and read(getattr(mail, name))  # whether it can be read
        except BadInput as error:
            raise BadSetting(f"mail.{name}: {error}") from None
    check_networks("mail.allow", mail.allow)


def check_webhooks(rules: WebhookRules) -> None:
    """The group `webhooks`."""
    check_networks("webhooks.allow", rules.allow)
    check_networks("webhooks.deny", rules.deny)
    try:
        _ = read_proxies(rules.proxies)  # whether they can be read
    except BadInput as error:
        raise BadSetting(f"webhooks.proxies: {error}") from None
    if not SOURCE.fullmatch(rules.source):
        raise BadSetting("webhooks.source: give a URI reference, as https://example.com/orders")


def check_redaction(rules: tuple[str, ...]) -> None:
    """The setting `redact`."""
    try:
        _ = Redaction(rules)  # whether they can be read
    except BadInput as error:
        raise BadSetting(f"redact: {error}") from None


def check_networks(name: str, networks: Iterable[str]) -> None:
    """Networks can be read."""
    for network in networks:
        try:
            ip_network(network)
        except ValueError as error:
            raise BadSetting(
                f"{name}: {network!r} is no network: give one as 10.0.0.0/8, several with commas "
                f"between them ({error})"
            ) from None
