"""What tests of programs use: the road of the pytest plugin's fixture, in simulated time.

from postroad.testing import Rehearsal

def test_it(road: Rehearsal) -> None:
road.send("resize", {"photo": 7})
road.assert_sent("resize", contains={"photo": 7}, count=1)
"""

from postroad.testing.rehearsal import Rehearsal
from postroad.testing.sent import Sent

__all__ = ["Rehearsal", "Sent"]
