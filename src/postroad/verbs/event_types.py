"""Event types: what events there are, and what their bodies look like."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from postroad.model.endpoint import check_type
from postroad.model.errors import BadInput, UnknownEventType
from postroad.model.event_types import DESCRIPTION_MAX, EventType, EventTypes
from postroad.model.texts import checked
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.event_openapi import exported, imported
from postroad.verbs.event_schemas import Check, checker
from postroad.verbs.event_stores import event_store

TYPES_MAX: Final = 1_000
"""Event types of a road: each process keeps them all."""


class EventTypeList(Struct, frozen=True):
    """All event types of a road, by name."""

    event_types: tuple[EventType, ...]


class Catalogue:
    """The event types of one version, with their schemas compiled when they are first used."""

    def __init__(self, found: EventTypes) -> None:
        self.version = found.version
        self.types = {kind.name: kind for kind in found.types}
        self._checks: dict[str, Check] = {}

    def check(self, kind: EventType) -> Check | None:
        """What checks the bodies of a type, if it has a schema."""
        if kind.schema is None:
            return None
        if kind.name not in self._checks:
            self._checks[kind.name] = checker(kind.name, kind.schema)
        return self._checks[kind.name]


@bounded
class EventTypeAdmin:
    """Set and list the types of events. They are the road's, and the same for all tenants."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def set(
        self,
        name: str,
        *,
        description: str = "",
        schema: dict[str, object] | None = None,
        warn: bool = False,
        archived: bool = False,
    ) -> EventType:
        """Set an event type; it replaces one of the same name. Bodies that do not fit the schema
        are refused, or with `warn` published and told of. Of an archived one nothing is
        published."""
        kind = EventType(name, description, schema, warn, archived)
        await self._put([kind])
        return kind

    async def get(self, name: str) -> EventType:
        """An event type."""
        found = await event_store(self._store).event_types()
        for kind in found.types:
            if kind.name == name:
                return kind
        raise UnknownEventType(f"this road has no event type {name!r:.80}")

    async def list(self, *, archived: bool = True) -> EventTypeList:
        """All event types by name; those that are archived only if they are asked for."""
        found = await event_store(self._store).event_types()
        return EventTypeList(tuple(k for k in found.types if archived or not k.archived))

    async def import_openapi(self, document: dict[str, object]) -> EventTypeList:
        """Set the event types that an OpenAPI document describes as webhooks; all or none."""
        kinds = imported(document)
        await self._put(kinds)
        return EventTypeList(tuple(kinds))

    async def export_openapi(self) -> dict[str, object]:
        """Describe the event types as webhooks of an OpenAPI document; archived ones are left
        out."""
        return exported((await self.list(archived=False)).event_types)

    async def _put(self, kinds: Sequence[EventType]) -> None:
        store = event_store(self._store)
        for kind in kinds:
            _ = check_type(kind.name)  # whether it is one
            _ = checked("description", kind.description, DESCRIPTION_MAX)  # short enough
            if kind.schema is not None:
                _ = checker(kind.name, kind.schema, new=True)  # whether it can be used
        known = {each.name for each in (await store.event_types()).types}
        if len(known | {kind.name for kind in kinds}) > TYPES_MAX:
            raise BadInput(f"a road has at most {TYPES_MAX} event types: archive none, reuse some")
        await store.event_type_put(kinds)
