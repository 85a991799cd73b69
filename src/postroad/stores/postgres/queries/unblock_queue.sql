-- Lift a queue's hold-off.
select postroad.unblock_queue($1)
