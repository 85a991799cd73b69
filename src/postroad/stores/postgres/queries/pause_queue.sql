-- Hold a queue, or let it go on.
select postroad.pause_queue_v1($1, $2)
