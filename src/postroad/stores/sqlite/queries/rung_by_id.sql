-- A rung by its number.
select id, lane_id, queue_id, level, priority, slot, ready_at from rung where id = ?1
