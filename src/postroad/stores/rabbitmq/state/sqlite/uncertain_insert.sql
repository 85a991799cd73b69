-- A message of which nobody knows whether it was sent.
insert or ignore into message (id, rung_id, place, due, level, attempts, accepted_at, expires_at,
                               headers, body)
select ?1, r.id, ?5, ?5, ?6, ?7, ?8, ?9, ?10, ?11 from rung r
 where r.lane_id = ?2 and r.queue_id = ?3 and r.level = -1 and r.priority = ?4 and r.slot = 0
