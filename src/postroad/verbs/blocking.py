"""The groups of verbs without `await`: each waits for the same verb of the road itself."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec.structs import replace

from postroad.verbs.attachments import Attachments
from postroad.verbs.audit import AuditVerbs
from postroad.verbs.batches import BatchVerbs
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.control import LaneControls
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.dead import DeadMessages
from postroad.verbs.endpoints import EndpointAdmin
from postroad.verbs.event_types import EventTypeAdmin
from postroad.verbs.events import EventVerbs
from postroad.verbs.figures import FleetRollups, FleetWorkers
from postroad.verbs.inspection import Inspection
from postroad.verbs.jobs import JobVerbs
from postroad.verbs.limits import NamedLimits
from postroad.verbs.mailboxes import MailboxAdmin
from postroad.verbs.messages import Messages
from postroad.verbs.portal import PortalAdmin
from postroad.verbs.privacy import PrivacyVerbs
from postroad.verbs.receipts import SentReceipt
from postroad.verbs.replays import ReplayVerbs
from postroad.verbs.rules import RuleAdmin
from postroad.verbs.sessions import SessionAdmin
from postroad.verbs.suppressions import SuppressionVerbs
from postroad.verbs.tenants import TenantAdmin
from postroad.verbs.timetables import TimetableVerbs
from postroad.verbs.tokens import TokenAdmin
from postroad.verbs.webhooks import WebhookAdmin

P = ParamSpec("P")
R = TypeVar("R")


class Verbs:
    """Verbs that wait for those of `target`, the same group of the road itself."""

    def __init__(self, target: Any, wait: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._target = target
        self._wait = wait


def blocking(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], via: str = "_wait"
) -> Callable[Concatenate[Any, P], R]:
    """The same verb, waited for. `via` names the method that knows how to wait."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        wait: Callable[[Coroutine[Any, Any, R]], R] = getattr(self, via)
        return wait(getattr(self._target, name)(*args, **kwargs))

    return call


def receipted(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], via: str = "_wait"
) -> Callable[Concatenate[Any, P], R]:
    """As `blocking`, for a verb that gives receipts: these block, too."""
    wait = blocking(verb, via)

    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = wait(self, *args, **kwargs)
        if isinstance(given, list):
            given = [_blocking(one, self.jobs) for one in given]
        else:
            given = _blocking(given, self.jobs)
        answer: R = given
        return answer

    return call


def _blocking(given: object, jobs: "BlockingJobs") -> object:
    return replace(given, jobs=jobs) if isinstance(given, SentReceipt) else given


class BlockingJobs(Verbs):
    """Wait for jobs, and read what they gave."""

    wait, result = blocking(JobVerbs.wait), blocking(JobVerbs.result)
    running = blocking(JobVerbs.running)


class BlockingDead(Verbs):
    """List, show, replay and purge the messages that will not be tried again."""

    list, show = blocking(DeadMessages.list), blocking(DeadMessages.show)
    replay, purge = blocking(DeadMessages.replay), blocking(DeadMessages.purge)


class BlockingMessages(Verbs):
    """List and search messages, and send finished ones again."""

    list, body = blocking(Messages.list), blocking(Messages.body)
    send_again = blocking(Messages.send_again)
    settle = blocking(Messages.settle)


class BlockingLanes(Verbs):
    """Pause, resume, unblock and limit whole lanes, by their number."""

    pause, resume = blocking(LaneControls.pause), blocking(LaneControls.resume)
    unblock, limit = blocking(LaneControls.unblock), blocking(LaneControls.limit)


class BlockingInspection(Verbs):
    """List queues, lanes and retry levels, and count messages."""

    queues, lanes = blocking(Inspection.queues), blocking(Inspection.lanes)
    overview, levels = blocking(Inspection.overview), blocking(Inspection.levels)


class BlockingRollups(Verbs):
    """Read figures of the whole fleet."""

    list, recent = blocking(FleetRollups.list), blocking(FleetRollups.recent)


class BlockingWorkers(Verbs):
    """List the processes that deliver."""

    list = blocking(FleetWorkers.list)


class BlockingLimits(Verbs):
    """Set, list and lift limits that many lanes share."""

    put, list = blocking(NamedLimits.put), blocking(NamedLimits.list)
    delete = blocking(NamedLimits.delete)


class BlockingRules(Verbs):
    """Put, list, delete and test answer rules."""

    put, list = blocking(RuleAdmin.put), blocking(RuleAdmin.list)
    delete, test = blocking(RuleAdmin.delete), blocking(RuleAdmin.test)


class BlockingTokens(Verbs):
    """Make, list and revoke access tokens."""

    make, list = blocking(TokenAdmin.make), blocking(TokenAdmin.list)
    revoke, who = blocking(TokenAdmin.revoke), blocking(TokenAdmin.who)


class BlockingSessions(Verbs):
    """Make login links, list and end the sessions of people."""

    login, open = blocking(SessionAdmin.login), blocking(SessionAdmin.open)
    list, end = blocking(SessionAdmin.list), blocking(SessionAdmin.end)


class BlockingPortal(Verbs):
    """Make links to the portal of a tenant, list and revoke them."""

    link, open = blocking(PortalAdmin.link), blocking(PortalAdmin.open)
    list, revoke = blocking(PortalAdmin.list), blocking(PortalAdmin.revoke)
    find = blocking(PortalAdmin.find)


class BlockingTenants(Verbs):
    """Create, list, show, limit and remove tenants."""

    create, list = blocking(TenantAdmin.create), blocking(TenantAdmin.list)
    show, limits = blocking(TenantAdmin.show), blocking(TenantAdmin.limits)
    remove = blocking(TenantAdmin.remove)


class BlockingAudit(Verbs):
    """List who changed what."""

    list = blocking(AuditVerbs.list)


class BlockingPrivacy(Verbs):
    """Erase what is stored about a tenant or a recipient."""

    erase, erasure = blocking(PrivacyVerbs.erase), blocking(PrivacyVerbs.erasure)
    erasures = blocking(PrivacyVerbs.erasures)


class BlockingMailboxes(Verbs):
    """Make, list, explain and delete the hub's mailboxes."""

    create, list = blocking(MailboxAdmin.create), blocking(MailboxAdmin.list)
    explain, delete = blocking(MailboxAdmin.explain), blocking(MailboxAdmin.delete)
    stats = blocking(MailboxAdmin.stats)


class BlockingWebhooks(Verbs):
    """Set how webhooks are called, and read the log of their tries."""

    set, get = blocking(WebhookAdmin.set), blocking(WebhookAdmin.get)
    list, delete = blocking(WebhookAdmin.list), blocking(WebhookAdmin.delete)
    attempts, rotate_keys = blocking(WebhookAdmin.attempts), blocking(WebhookAdmin.rotate_keys)


class BlockingEndpoints(Verbs):
    """Make, change, list and delete the endpoints that events are sent to."""

    create, get = blocking(EndpointAdmin.create), blocking(EndpointAdmin.get)
    list, change = blocking(EndpointAdmin.list), blocking(EndpointAdmin.change)
    enable, disable = blocking(EndpointAdmin.enable), blocking(EndpointAdmin.disable)
    rotate, delete = blocking(EndpointAdmin.rotate), blocking(EndpointAdmin.delete)
    feed, ack = blocking(EndpointAdmin.feed), blocking(EndpointAdmin.ack)
    recover, test = blocking(EndpointAdmin.recover), blocking(EndpointAdmin.test)
    stats = blocking(EndpointAdmin.stats)
    rules = blocking(EndpointAdmin.rules)
    set_rules = blocking(EndpointAdmin.set_rules)


class BlockingEventTypes(Verbs):
    """Set and list the types of events."""

    set, get = blocking(EventTypeAdmin.set), blocking(EventTypeAdmin.get)
    list = blocking(EventTypeAdmin.list)
    import_openapi = blocking(EventTypeAdmin.import_openapi)
    export_openapi = blocking(EventTypeAdmin.export_openapi)


class BlockingEvents(Verbs):
    """Publish events, and see what became of them."""

    publish, list = blocking(EventVerbs.publish), blocking(EventVerbs.list)
    get, publish_in = blocking(EventVerbs.get), blocking(EventVerbs.publish_in)
    unmatched = blocking(EventVerbs.unmatched)


class BlockingReplays(Verbs):
    """Start, watch, pause and cancel replays."""

    start, get = blocking(ReplayVerbs.start), blocking(ReplayVerbs.get)
    list, pause = blocking(ReplayVerbs.list), blocking(ReplayVerbs.pause)
    resume, cancel = blocking(ReplayVerbs.resume), blocking(ReplayVerbs.cancel)


class BlockingBatches(Verbs):
    """Send batches, see how they stand, wait for and cancel them."""

    batch, chain = blocking(BatchVerbs.batch), blocking(BatchVerbs.chain)
    put, get = blocking(BatchVerbs.put), blocking(BatchVerbs.get)
    wait, cancel = blocking(BatchVerbs.wait), blocking(BatchVerbs.cancel)
    list = blocking(BatchVerbs.list)


class BlockingTimetables(Verbs):
    """Make, change, pause, resume, run and delete timetables."""

    create, list = blocking(TimetableVerbs.create), blocking(TimetableVerbs.list)
    show, change = blocking(TimetableVerbs.show), blocking(TimetableVerbs.change)
    pause, resume = blocking(TimetableVerbs.pause), blocking(TimetableVerbs.resume)
    run_now, delete = blocking(TimetableVerbs.run_now), blocking(TimetableVerbs.delete)


class BlockingAttachments(Verbs):
    """Store files that mails refer to."""

    put, get = blocking(Attachments.put), blocking(Attachments.get)
    list, remove = blocking(Attachments.list), blocking(Attachments.remove)


class BlockingCampaigns(Verbs):
    """Send one template to many recipients."""

    create, list = blocking(CampaignAdmin.create), blocking(CampaignAdmin.list)
    edit, clone = blocking(CampaignAdmin.edit), blocking(CampaignAdmin.clone)
    delete, details = blocking(CampaignAdmin.delete), blocking(CampaignAdmin.details)
    show, exact = blocking(CampaignAdmin.show), blocking(CampaignAdmin.exact)
    import_file = blocking(CampaignAdmin.import_file)
    discard_import = blocking(CampaignAdmin.discard_import)
    preview, test_send = blocking(CampaignAdmin.preview), blocking(CampaignAdmin.test_send)
    dry_run, schedule = blocking(CampaignAdmin.dry_run), blocking(CampaignAdmin.schedule)
    start, stop = blocking(CampaignAdmin.start), blocking(CampaignAdmin.stop)
    resume, retry = blocking(CampaignAdmin.resume), blocking(CampaignAdmin.retry)
    cancel, settle = blocking(CampaignAdmin.cancel), blocking(CampaignAdmin.settle)
    lookup, recipients = blocking(CampaignAdmin.lookup), blocking(CampaignAdmin.recipients)


class BlockingSuppressions(Verbs):
    """Keep lists of recipients that are not sent to."""

    add, remove = blocking(SuppressionVerbs.add), blocking(SuppressionVerbs.remove)
    list, import_ = blocking(SuppressionVerbs.list), blocking(SuppressionVerbs.import_)
    take_report = blocking(SuppressionVerbs.take_report)


class BlockingCredentials(Verbs):
    """Store, check and delete the credentials that campaigns send with."""

    put, show = blocking(CredentialAdmin.put), blocking(CredentialAdmin.show)
    list, check = blocking(CredentialAdmin.list), blocking(CredentialAdmin.check)
    delete, rotate_keys = blocking(CredentialAdmin.delete), blocking(CredentialAdmin.rotate_keys)
