"""Tools for tests: simulated time, scripted receivers, and a ledger that finds broken promises."""
