"""For tests of roads: simulated time, scripted receivers, and the ledger that names breaches."""
