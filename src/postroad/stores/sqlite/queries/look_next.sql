-- When the next rung of a lane is ready.
select min(ready_at) from rung where lane_id = ?1 and ready_at > ?2
