-- The rung of a queue's unordered messages at a level and priority.
select id from rung where lane_id = ?1 and queue_id = ?2 and level = ?3 and priority = ?4 and slot = 0
