"""One frozen settings object. Its values come from flags, then the environment, then a file."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.errors import BadInput, BadSetting
from postroad.model.hubs import KnownHub, known_hub
from postroad.model.limits import Limits, Tuning
from postroad.model.mail_settings import MailSettings
from postroad.model.near_names import NamesChecked, nearest
from postroad.model.portal import check_origins
from postroad.model.python_only import PYTHON_ONLY, where_given
from postroad.model.setting_checks import (
    check_dsn,
    check_hubs,
    check_mail,
    check_number,
    check_redaction,
    check_webhooks,
)
from postroad.model.tenant_limits import TenantLimits
from postroad.model.webhook import WebhookRules

FILE: Final = "postroad.toml"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
LOG_FORMATS: Final = ("text", "json")
WATCHDOG_S: Final = (0.1, 86_400.0)
DEFAULT: Final = "default"
ENVIRONMENT: Final = "environment"
FLAG: Final = "flag"
PREFIX: Final = "POSTROAD_"
TOKEN_CHARACTERS_MIN: Final = 24
"""Minimum for tokens that people choose: 24 random letters and digits have 142 bits."""
NO_SETTINGS: Final = (
    "ca_file",
    "config",
    "keys",
    "secret",
    "server",
    "supervised",
    "tenant",
    "token",
)
"""Variables that other parts read, without the prefix."""
OTHERS: Final = re.compile(r"TEST_|(.*_)?(SERVICE_(HOST|PORT)|PORT)(_|$)")
"""Variables of the tests, and those that Kubernetes sets for a service named postroad."""


class Settings(Struct, metaclass=NamesChecked, frozen=True):
    """The settings of a road; docs/reference/settings.md explains each."""

    dsn: str = "sqlite:///road.db"
    body_bytes_max: int = 1 << 20
    keep_bodies: Duration = 0.0
    redact: tuple[str, ...] = ()
    log_level: str = "info"
    log_format: str = "text"
    listen: str = "127.0.0.1:8600"
    hub_listen: str = "127.0.0.1:8601"
    hub_token: str = ""
    hub_create_token: str = ""
    hubs: tuple[KnownHub, ...] = ()
    origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    tls_cert_file: str = ""
    tls_key_file: str = ""
    request_bytes_max: int = 32 << 20
    intake_max: int = 10_000
    watchdog_s: float = 10.0
    window: bool = True
    keys_file: str = ""
    unsubscribe_page: str = ""
    login_file: str = ""
    limits: Limits = Limits()
    tenants: TenantLimits = TenantLimits()
    webhooks: WebhookRules = WebhookRules()
    mail: MailSettings = MailSettings()


SECTIONS: Final[dict[str, type[Limits | TenantLimits | WebhookRules | MailSettings]]] = {
    "limits": Limits,
    "tenants": TenantLimits,
    "webhooks": WebhookRules,
    "mail": MailSettings,
}


class Loaded(Struct, frozen=True):
    """The settings, and where the value of each came from, by its dotted name."""

    settings: Settings
    sources: dict[str, str]

    def chosen(self, name: str) -> bool:
        """Whether its value was given, and is not the default."""
        return self.sources[name] != DEFAULT

    def given(self, name: str) -> bool:
        """Whether its value was given to this process: not by a file, which others read too."""
        return self.sources[name] in (ENVIRONMENT, FLAG)


def names() -> dict[str, Any]:
    """Every setting by its dotted name, with its type."""
    others = {*PYTHON_ONLY, *(f"limits.{name}" for name in Tuning.__struct_fields__)}
    return {name: kind for name, kind in _fields_by_name() if name not in others}


def _fields_by_name() -> Iterator[tuple[str, Any]]:
    yield from ((f.name, f.type) for f in structs.fields(Settings) if f.name not in SECTIONS)
    for section, kind in SECTIONS.items():
        yield from ((f"{section}.{field.name}", field.type) for field in structs.fields(kind))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.replace(".", "_").upper()


def unknown(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that begin with our prefix and are no settings, each with a hint."""
    known = [variable(name).removeprefix(PREFIX) for name in (*names(), *NO_SETTINGS)]
    found = {each: where_given(name) for name in PYTHON_ONLY if (each := variable(name)) in environ}
    for name in environ:
        rest = name.removeprefix(PREFIX)
        if rest == name or rest in known or name in found:
            continue
        near = get_close_matches(rest, known, 1)
        if near:
            found[name] = f"did you mean {PREFIX}{near[0]}?"
        elif not OTHERS.match(rest):
            found[name] = "see `postroad config show` for the settings"
    return dict(sorted(found.items()))


def load(
    flags: Mapping[str, str], environ: Mapping[str, str], file: Path | None, base: Settings
) -> Loaded:
    """Read the settings from flags, environment and file; the others are as in `base`."""
    known = names()
    values: dict[str, Any] = {}
    sources = dict.fromkeys(known, DEFAULT)
    said = [(name, value, str(file), name) for name, value in _in_file(file)]
    told = [(name, environ[variable(name)]) for name in known if variable(name) in environ]
    said += [(name, value, ENVIRONMENT, variable(name)) for name, value in told]
    said += [(name, value, FLAG, f"--set {name}") for name, value in flags.items()]
    for name, value, source, label in said:
        values[name] = _convert(name, value, label, known)
        sources[name] = source
    changed = {key: value for key, value in values.items() if "." not in key}
    for section in SECTIONS:
        mark = f"{section}."
        inner = {key.removeprefix(mark): v for key, v in values.items() if key.startswith(mark)}
        changed[section] = structs.replace(getattr(base, section), **inner)
    settings = structs.replace(base, **changed)
    check(settings)
    return Loaded(settings, sources)


def _in_file(file: Path | None) -> Iterator[tuple[str, Any]]:
    if file is None:
        return
    try:
        found = tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise BadSetting(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{file} is not TOML: {error}") from None
    for name, value in found.items():
        if name in SECTIONS and isinstance(value, dict):
            yield from ((f"{name}.{inner}", given) for inner, given in value.items())
        else:
            yield name, value


def _convert(name: str, value: Any, label: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        near = nearest(name, known) or "; see `postroad config show`"
        hint = f": {where_given(name)}" if name in PYTHON_ONLY else near
        raise BadSetting(f"{label}: there is no setting {name!r}{hint}")
    if name == "hubs":
        return _hubs(value, label)
    if value == "" and known[name] in (int, float, bool):
        raise BadSetting(f"{label} is empty: give a value, or leave it out")
    if isinstance(value, str) and known[name] in (int, float):
        value = value.replace("_", "")
    elif isinstance(value, str) and known[name] not in (str, bool, Duration):
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        return msgspec.convert(value, known[name], strict=False)
    except msgspec.ValidationError as error:
        # What should have been a text may be a token.
        said = label if known[name] is str else f"{label} = {value!r}"
        raise BadSetting(f"{said}: {str(error).lower()}") from None


def _hubs(value: Any, label: str) -> tuple[KnownHub, ...]:
    """Hubs are tables in a file and lines elsewhere. Errors show no values: they hold tokens."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise BadSetting(f"{label}: give a list of hubs")
    try:
        return tuple(
            known_hub(each) if isinstance(each, str) else msgspec.convert(each, KnownHub)
            for each in value
        )
    except msgspec.ValidationError as error:
        raise BadSetting(f"{label}: {str(error).lower()}") from None


def named_dsn(dsn: str | None, settings: Settings) -> str:
    """The DSN of a road: the one that is given, else POSTROAD_DSN, else that of the settings."""
    return dsn or os.environ.get(f"{PREFIX}DSN") or settings.dsn


REMOTE: Final = "postroad.remote.road"
"""The module of roads that another process serves; by its name, for it stands on the others."""


def is_remote(dsn: object) -> bool:
    """Whether another process serves the road of a DSN: a server, or the owner of a file."""
    return isinstance(dsn, str) and dsn.startswith(("http://", "https://", "road:///"))


def checked(settings: object) -> Settings:
    """Check the settings that a program gives; BadSetting for wrong types or values."""
    values = _fields(settings, Settings, "settings")
    for section, kind in SECTIONS.items():
        values[section] = _fields(values[section], kind, section)
    hubs = values["hubs"] if isinstance(values["hubs"], tuple | list) else (values["hubs"],)
    values["hubs"] = [_fields(each, KnownHub, "hubs") for each in hubs]
    try:
        sound = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        wrong, _, name = str(error).rpartition(" - at `$.")
        raise BadSetting(f"{name.rstrip('`')}: {wrong.lower()}") from None
    check(sound)
    return sound


def _fields(held: object, kind: type[Struct], name: str) -> dict[str, Any]:
    if not isinstance(held, kind):
        raise BadSetting(f"{name}: give {kind.__name__}(…), not {type(held).__name__}")
    return structs.asdict(held)


def check(settings: Settings) -> None:
    """Raise BadSetting for values that make no sense."""
    check_dsn(settings.dsn)
    for name, choices in (("log_level", LOG_LEVELS), ("log_format", LOG_FORMATS)):
        if getattr(settings, name) not in choices:
            given = getattr(settings, name)
            raise BadSetting(f"{name} = {given!r}: give one of {', '.join(choices)}")
    _ = address(settings.listen)  # whether it can be read
    _ = address(settings.hub_listen, "hub_listen")  # whether it can be read
    _check_hubs(settings)
    _check_network(settings)
    check_mail(settings.mail)
    check_webhooks(settings.webhooks)
    check_redaction(settings.redact)
    for name, number in _numbers(settings):
        check_number(name, number)
    if not 0 <= seconds_of(settings.keep_bodies) <= CENTURY_S:
        raise BadSetting(
            f"keep_bodies = {settings.keep_bodies}: give seconds or a timedelta, 0 for none, at "
            "most a century"
        )
    if settings.watchdog_s and not WATCHDOG_S[0] <= settings.watchdog_s <= WATCHDOG_S[1]:
        least, most = WATCHDOG_S
        raise BadSetting(
            f"watchdog_s = {settings.watchdog_s}: give {least:g} to {most:g}, or 0 for none"
        )
    if not settings.limits.poll_intervals_s:
        raise BadSetting("limits.poll_intervals_s = (): give an interval for each retry level")
    if settings.limits.stale_ms >= settings.limits.lease_ms:
        raise BadSetting(
            f"limits.stale_ms = {settings.limits.stale_ms}: give less than "
            f"limits.lease_ms, {settings.limits.lease_ms}"
        )


def _check_hubs(settings: Settings) -> None:
    for name in ("hub_token", "hub_create_token"):
        if 0 < len(getattr(settings, name)) < TOKEN_CHARACTERS_MIN:
            raise BadSetting(
                f"{name}: give at least {TOKEN_CHARACTERS_MIN} characters, chosen at random: "
                "`openssl rand -base64 24` makes 32"
            )
    check_hubs(settings.hubs)


def _check_network(settings: Settings) -> None:
    for proxy in settings.trusted_proxies:
        try:
            ip_network(proxy)
        except ValueError:
            raise BadSetting(
                f"trusted_proxies: {proxy!r} is not an address or network: give one as 10.0.0.7 or "
                "10.0.0.0/24"
            ) from None
    try:
        _ = check_origins(settings.origins)  # whether they can be read
    except BadInput as error:
        raise BadSetting(str(error)) from None
    for host in settings.allowed_hosts:
        if not host or "/" in host or ":" in host.strip("[]").rpartition("]")[2]:
            raise BadSetting(f"allowed_hosts: {host!r}: give a name alone, as ops.example.com")
    if bool(settings.tls_cert_file) != bool(settings.tls_key_file):
        raise BadSetting("tls_cert_file and tls_key_file go together: set both, or none")


def _numbers(settings: Settings) -> Iterator[tuple[str, float]]:
    for name, kind in _fields_by_name():
        section, _, inner = name.rpartition(".")
        value = getattr(getattr(settings, section) if section else settings, inner)
        if kind in (int, float):
            yield name, value
        elif kind in (tuple[int, ...], tuple[float, ...]):
            yield from ((name, number) for number in value)


def address(listen: str, name: str = "listen") -> tuple[str, int]:
    """The host and port of an address such as `listen`."""
    host, mark, port = listen.rpartition(":")
    number = int(port) if port.isdecimal() and len(port) <= 5 else 65_536
    if not mark or not host or number > 65_535:
        raise BadSetting(f"{name} = {listen!r}: give HOST:PORT, as in 127.0.0.1:8600")
    return host.strip("[]"), number


def api_address(settings: Settings) -> tuple[str, int]:
    """The host and port that the API listens on."""
    return address(settings.listen)


def api_names(settings: Settings) -> frozenset[str]:
    """Names by which others reach the API."""
    public = settings.mail.public_url.partition("://")[2].partition("/")[0].partition(":")[0]
    return frozenset(name.lower() for name in (*settings.allowed_hosts, public) if name)
