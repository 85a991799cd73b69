-- Hold a queue, or let it go on.
select postroad.pause_queue($1, $2)
