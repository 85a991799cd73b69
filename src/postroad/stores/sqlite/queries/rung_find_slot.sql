-- The rung of an ordered slot, whatever level its head is at.
select id from rung where lane_id = ?1 and queue_id = ?2 and slot = ?3 and slot > 0
