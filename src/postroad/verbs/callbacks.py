"""What providers report about messages that they have taken."""

from collections.abc import Mapping

from postroad.model.credential import Credential
from postroad.model.ids import campaign_row, key_text
from postroad.model.recipients import read_queue_name
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import CallsBack, ProviderCall, ReportsBack, callback_url
from postroad.ports.store import Store
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.mail_reports import MailReports


class Callbacks:
    """Takes reports about campaigns' messages and about single ones."""

    def __init__(
        self,
        store: Store,
        tables: CampaignStore,
        credentials: CredentialAdmin,
        reports: MailReports,
    ) -> None:
        self._store = store
        self._campaigns = tables
        self._credentials = credentials
        self._reports = reports

    async def reporting(self, tenant: str, name: str) -> Credential | None:
        """The credential whose provider reports at one address; None when it has none."""
        found = await self._campaigns.credential(tenant, name)
        if found is None or not found.spec.options.get("callbacks"):
            return None
        return found if isinstance(self._credentials.channel(found), ReportsBack) else None

    async def take_reports(self, credential: Credential, call: ProviderCall) -> bool:
        """Take what a provider reports about messages of a tenant. False if the call is not from
        the provider; what it says about others is passed over."""
        channel = self._credentials.channel(credential)
        opened = self._credentials.with_secrets(credential)
        if not isinstance(channel, ReportsBack):
            return False
        found = await channel.reports(call, opened, self._once)
        if found is None:
            return False
        source = f"callback of {credential.spec.options['callbacks']}"
        _ = await self._reports.take_reports(
            found, "", credential.tenant, source
        )  # or none of ours
        return True

    async def _once(self, token: str, digest: str) -> bool:
        return await self._store.take_token(token, digest, self._store.clock.now_ms())

    async def credential(self, number: int, headers: Mapping[str, str]) -> Credential | None:
        """The credential that a message was sent with; None when no report about it is expected,
        or not with such headers: then nothing else of the request is read."""
        found = await self._credential_of(number)
        if found is None or not found.spec.callback:
            return None
        channel = self._credentials.channel(found)
        return found if isinstance(channel, CallsBack) and channel.reads(headers) else None

    async def _credential_of(self, number: int) -> Credential | None:
        if number < 0:
            return await self._campaigns.credential_of(campaign_row(number)[0])
        facts = await self._store.message_facts(None, number)
        if facts is None:
            return None
        _, name, _ = read_queue_name(facts.queue.name)
        return await self._campaigns.credential(facts.queue.tenant, name)

    async def take(
        self, number: int, credential: Credential, headers: Mapping[str, str], body: bytes
    ) -> bool:
        """Take a report about one message. False if it is not signed by the provider for the right
        address, or is about nothing that we know."""
        channel = self._credentials.channel(credential)
        call = ProviderCall(callback_url(credential.spec.callback, key_text(number)), headers, body)
        opened = self._credentials.with_secrets(credential)
        report = channel.report(call, opened) if isinstance(channel, CallsBack) else None
        if report is None:
            return False
        if number >= 0:  # it has been taken: that settles it where nobody knew
            _ = await self._store.settle(credential.tenant, number, sent=True)
            return True
        campaign, n = campaign_row(number)
        told = (report.provider_id, report.status, report.code)
        return not n or await self._campaigns.callback(campaign, n, *told)
