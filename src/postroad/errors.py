"""Every error that a program can catch: `from postroad.errors import Conflict`."""

from postroad.campaigns.reading import BadFile as BadFile  # noqa: PLC0414 - public here
from postroad.model.batch import BatchGivenUp as BatchGivenUp  # noqa: PLC0414
from postroad.model.batch import CyclicBatch as CyclicBatch  # noqa: PLC0414
from postroad.model.batch import UnknownBatch as UnknownBatch  # noqa: PLC0414
from postroad.model.blobs import AttachmentInUse as AttachmentInUse  # noqa: PLC0414
from postroad.model.blobs import UnknownAttachment as UnknownAttachment  # noqa: PLC0414
from postroad.model.campaign import BadTemplate as BadTemplate  # noqa: PLC0414
from postroad.model.campaign import UnknownCampaign as UnknownCampaign  # noqa: PLC0414 - public here
from postroad.model.campaign import WrongState as WrongState  # noqa: PLC0414
from postroad.model.credential import BadCredential as BadCredential  # noqa: PLC0414
from postroad.model.endpoint_life import EndpointDisabled as EndpointDisabled  # noqa: PLC0414
from postroad.model.errors import *  # noqa: F403 - all of them, and each is public
from postroad.model.held_by_handler import HoldKey as HoldKey  # noqa: PLC0414
from postroad.model.held_by_handler import HoldQueue as HoldQueue  # noqa: PLC0414
from postroad.model.job_errors import JobFailed as JobFailed  # noqa: PLC0414
from postroad.model.job_errors import NoResult as NoResult  # noqa: PLC0414
from postroad.model.job_errors import ResultTimeout as ResultTimeout  # noqa: PLC0414
from postroad.model.replay import NothingToReplay as NothingToReplay  # noqa: PLC0414
from postroad.model.replay import UnknownReplay as UnknownReplay  # noqa: PLC0414
from postroad.model.restoring import RoadHeld as RoadHeld  # noqa: PLC0414
from postroad.model.tenant import TenantInUse as TenantInUse  # noqa: PLC0414
from postroad.model.tenant import UnknownTenant as UnknownTenant  # noqa: PLC0414
from postroad.model.ticks import DeclaredInCode as DeclaredInCode  # noqa: PLC0414
from postroad.model.ticks import UnknownTimetable as UnknownTimetable  # noqa: PLC0414
from postroad.transports.gathering import Some as Some  # noqa: PLC0414
