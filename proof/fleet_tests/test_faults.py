"""Connections that are cut again and again, and a bell that is silent."""

from collections import Counter
from urllib.parse import quote

from postroad.model.limits import Limits
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.killing import assorted
from tests.fleet.test_faults import checked
from tests.fleet.words import Mail, Work
from tests.servers.proxy import Proxy

PATIENT = Work("", "", Limits())
"""Leases as shipped: on a busy machine one of 5 s is lost beside cut connections, and what was in
flight is rightly tried again."""


def test_connections_that_are_cut_again_and_again(fleet: Fleet, proxy: Proxy) -> None:
    fleet.crew(2, dsn=proxy.dsn(), order=PATIENT)
    sender = fleet.mail(assorted(400), Mail("", proxy.dsn(), batch=10, rest_ms=80, sure=True))
    for _ in range(4):
        fleet.rest(0.7)
        proxy.cut()
    fleet.wait_sent(sender)
    report = checked(fleet, Counter())
    assert report.breaches == []
    assert (report.accepted, report.repeats) == (400, 0)


def test_delivery_goes_on_while_the_bell_is_silent(fleet: Fleet, proxy: Proxy) -> None:
    heard = f"{fleet.dsn}?listen={quote(proxy.dsn(), safe='')}"
    (worker,) = fleet.crew(1, dsn=heard)
    fleet.send([Parcel(tag("quick", 0, 0))])
    proxy.cut()  # the listener comes back by itself
    fleet.send([Parcel(tag("quick", 1, n)) for n in range(20)])
    fleet.wait(lambda: len(fleet.said("done")) == 21, "delivered after a cut", 5.0)
    proxy.down()  # and now it stays away: level 0 is polled every 5 s
    fleet.rest(2.0)
    fleet.send([Parcel(tag("quick", 2, n)) for n in range(20)])
    fleet.wait(lambda: len(fleet.said("done")) == 41, "delivered without a bell", 8.0)
    proxy.up()
    fleet.rest(3.0)
    fleet.send([Parcel(tag("keys", 3, 0, "a"))])
    fleet.wait(lambda: len(fleet.said("done", worker)) == 42, "the bell is heard again", 2.0)
