-- The rungs of a lane that became ready after a time, the longest ready first.
select id, lane_id, queue_id, level, priority, slot, ready_at from rung
 where lane_id = ?1 and ready_at > ?2 and ready_at <= ?3 order by ready_at
