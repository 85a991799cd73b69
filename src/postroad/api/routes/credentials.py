"""Credentials: put, list, check, delete. Secrets go in and never out."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give
from postroad.model.credential import CredentialSpec
from postroad.model.texts import FIELD_MAX, FIELDS_MAX, Id, Name, QueueName, Rate, SecretText
from postroad.model.tokens import Scope
from postroad.verbs.credentials import CredentialView, moment_ms

Fields = Annotated[
    dict[Id, Annotated[str, Meta(max_length=FIELD_MAX)]], Meta(max_length=FIELDS_MAX)
]


class CredentialRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A credential to be stored. It is checked first, and its secret is never shown again."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    secret: SecretText = ""
    kind: Id = "sms"
    provider: QueueName = ""
    account: Name = ""
    sender: Name = ""
    rate: Rate = ""
    segments_max: Annotated[int, Meta(ge=1, le=10)] = 1
    price: Annotated[float, Meta(ge=0)] = 0.0
    callback: QueueName = ""
    expires_at: datetime | None = None
    options: Fields = {}
    """Fields that only credentials of this kind have."""
    secrets: Fields = {}
    """The credential's secrets beside the main one."""


class Checked(Struct, frozen=True):
    """The account that a credential belongs to."""

    account: str


@give("/v1/credentials", scope=Scope.manage, status=201)
async def credential_put(request: Request, asked: CredentialRequest) -> CredentialView:
    """Store a credential; it replaces one of the same name."""
    spec = CredentialSpec(
        asked.provider,
        asked.account,
        asked.sender,
        asked.rate,
        asked.segments_max,
        asked.price,
        moment_ms(asked.expires_at) if asked.expires_at else 0,
        asked.callback,
        asked.options,
    )
    return await request.road.credentials.put(
        asked.name,
        spec,
        asked.secret,
        secrets=asked.secrets,
        kind=asked.kind,
        tenant=request.tenant,
    )


@fetch("/v1/credentials", scope=Scope.read)
async def credential_list(request: Request) -> list[CredentialView]:
    """List the credentials, without their secrets."""
    return list(await request.road.credentials.list(tenant=request.tenant))


@give("/v1/credentials/{name}/check", scope=Scope.manage)
async def credential_check(request: Request, name: str) -> Checked:
    """Check whether a credential works now."""
    found = await request.road.credentials.check(name, tenant=request.tenant)
    return Checked(found)


@drop("/v1/credentials/{name}", scope=Scope.manage, status=204)
async def credential_delete(request: Request, name: str) -> None:
    """Delete a credential that no campaign uses."""
    await request.road.credentials.delete(name, tenant=request.tenant)


ROUTES: Final = (credential_put, credential_list, credential_check, credential_delete)
