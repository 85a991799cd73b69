-- What the owner of a lane reads.

-- name: look_due
-- Find the rungs of a lane that became ready after a time, the longest ready first.
select id, lane_id, queue_id, level, priority, order_group, ready_at from rung
 where lane_id = ?1 and ready_at > ?2 and ready_at <= ?3 order by ready_at

-- name: look_next
-- Read when the next rung of a lane becomes ready.
select min(ready_at) from rung where lane_id = ?1 and ready_at > ?2

-- name: fetch_due
-- Read the messages of a rung after a cursor, in order.
select id, level, attempts, marks, place, due, accepted_at, expires_at, body, headers
  from message
 where rung_id = ?1 and (place, id) > (?2, ?3)
 order by place, id limit ?4
