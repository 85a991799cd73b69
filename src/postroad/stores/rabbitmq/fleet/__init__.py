"""The workers of a road as a fleet: who is alive, who serves which shard, and the work that any
worker does for all: dead letters, the catch-all queue, queues of another topology."""
