"""`postroad up` as it is, or with its guards taken away: `python -m proof.hostile.server GUARDS …`."""

import sys

from postroad.cli.main import main
from proof.hostile.control import disarm

if __name__ == "__main__":
    _, guards, *words = sys.argv
    if guards == "off":
        disarm()
    sys.argv = ["postroad", *words]
    main()
