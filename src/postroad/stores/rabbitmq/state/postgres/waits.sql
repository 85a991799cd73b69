-- What waits of a queue (or, not 0, of a lane), as far as is known: by lane and level.
select lane_id, level, count(*), min(due) from postroad.broker_message
 where done = 0 and (queue_id = $1 or lane_id = $2) group by 1, 2
