-- When the next lane of one pool is ready at one level.
select min(ready_at) from lane_level
 where pool = ?1 and level = ?2 and ready_at > ?3 and ready_at < 4611686018427387904
