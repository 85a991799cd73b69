"""The file of the setting `login_file`: a provider, a proxy, and who is a member as what."""

import re
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from postroad.model.errors import BadInput, BadSetting
from postroad.model.foreign import clean
from postroad.model.tokens import EVERY_TENANT, Role
from postroad.verbs.tokens import check_role, check_tenant, is_one_tenant

FILE_BYTES_MAX: Final = 1 << 20
NAME_MAX: Final = 150
ADDRESS_MAX: Final = 2_000
TRUE: Final = (True, "true")
PLAIN: Final = re.compile(r"[!\"$-~]+")
"""An address as it can stand in a header, without a fragment."""
Text = Annotated[str, Meta(min_length=1, max_length=2_000)]
HeaderText = Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]{1,100}$")]


class OpenId(Struct, frozen=True, forbid_unknown_fields=True):
    """An OpenID provider, as its operator has registered this server there."""

    issuer: Text
    client_id: Text
    client_secret: str = ""
    """Empty: a public client, which PKCE alone protects."""
    name: Annotated[str, Meta(min_length=1, max_length=100)] = "OpenID"
    """On the button: "Sign in with …"."""
    scopes: tuple[Text, ...] = ("openid", "profile", "email")


class ProxyLogin(Struct, frozen=True, forbid_unknown_fields=True):
    """A proxy that has asked people who they are, and says so in a header."""

    addresses: Annotated[tuple[Text, ...], Meta(min_length=1)]
    user_header: HeaderText = "x-forwarded-user"
    groups_header: HeaderText = "x-forwarded-groups"
    """Names with commas between them."""


class MemberRule(Struct, frozen=True, forbid_unknown_fields=True):
    """People who have this value in this claim have this role."""

    claim: Text
    value: Text
    role: Role
    tenant: Text = EVERY_TENANT
    tenant_claim: str = ""
    """The claim that names the tenant instead."""


class Member(Struct, frozen=True):
    """A person who may log in."""

    name: str
    role: Role
    tenant: str


class LoginFile(Struct, frozen=True, forbid_unknown_fields=True):
    """All of it. The first rule that fits a person counts."""

    members: tuple[MemberRule, ...] = ()
    openid: OpenId | None = None
    proxy: ProxyLogin | None = None

    def member(self, name: str, claims: dict[str, Any]) -> Member | None:
        """The role and tenant of a person; None for who is nobody's member."""
        for rule in self.members:
            if not _has(claims, rule.claim, rule.value):
                continue
            tenant = _claim(claims, rule.tenant_claim) if rule.tenant_claim else rule.tenant
            # What a claim names is one tenant: `*` in it must not be all of them.
            named = isinstance(tenant, str) and is_one_tenant(tenant)
            if named or not rule.tenant_claim:
                return Member(clean(name, NAME_MAX), rule.role, tenant)
        return None


def _has(claims: dict[str, Any], name: str, value: str) -> bool:
    """Whether a claim is a value, or a list that has it. An address that the provider has not
    verified is anybody's."""
    if name == "email" and claims.get("email_verified") not in TRUE:
        return False
    found = _claim(claims, name)
    return value in found if isinstance(found, list) else found == value


def _claim(claims: dict[str, Any], name: str) -> Any:
    """A claim by its name, or by a path with dots, as `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def read_login_file(path: str) -> LoginFile:
    """Read the file; without one nobody comes in but by links. BadSetting says what is wrong."""
    if not path:
        return LoginFile()
    try:
        with Path(path).open("rb") as file:
            data = tomllib.loads(file.read(FILE_BYTES_MAX).decode())
        found = msgspec.convert(data, LoginFile)
        _check(found)
    except OSError as error:
        raise BadSetting(f"login_file: cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"login_file: {path} is not TOML: {error}") from None
    except (msgspec.ValidationError, BadInput) as error:  # it may hold a secret: no value is shown
        raise BadSetting(f"login_file: {path}: {str(error)[:300]}") from None
    return found


def _check(found: LoginFile) -> None:
    if found.openid is not None:
        check_address(found.openid.issuer, "openid.issuer")
    for address in found.proxy.addresses if found.proxy else ():
        try:
            ip_network(address)
        except ValueError:
            raise BadInput(f"proxy.addresses: {address!r:.60} is no address or network") from None
    for rule in found.members:
        check_tenant(rule.tenant)
        _ = check_role(rule.role, "one" if rule.tenant_claim else rule.tenant)  # whether it may be
    if (found.openid or found.proxy) and not found.members:
        raise BadInput("nobody could log in: add [[members]] with claim, value and role")


def check_address(url: str, name: str) -> None:
    """Raise BadInput unless an address of a provider is https, or one of this machine. It may be a
    private one: it is the operator's setting."""
    try:
        parts = urlsplit(url)
        good = parts.scheme == "https" or (parts.scheme == "http" and _is_here(parts.hostname))
    except ValueError:
        good, parts = False, urlsplit("")
    good = good and len(url) <= ADDRESS_MAX and PLAIN.fullmatch(url) is not None
    if not good or not parts.hostname or parts.username:
        raise BadInput(f"{name}: give an address as https://id.example.com; http is for localhost")


def _is_here(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False
