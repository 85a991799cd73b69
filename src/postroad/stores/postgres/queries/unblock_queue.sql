-- Lift a queue's hold-off.
select postroad.unblock_queue_v1($1)
