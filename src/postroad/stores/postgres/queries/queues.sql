-- How queues are opened, found, paused, unblocked and collected.

-- name: open_queues
-- Queues by their specs, made with their lanes where they are new.
select postroad.open_queues($1)

-- name: find_queue
-- A queue by its tenant and name.
select postroad.find_queue($1, $2)

-- name: pause_queue
-- Pause or resume a queue.
select postroad.pause_queue($1, $2)

-- name: unblock_queue
-- Lift a queue's block.
select postroad.unblock_queue($1)

-- name: collect
-- The next part of the walk over queues that nobody uses.
select postroad.collect_unused($1, $2, $3, $4, $5)
