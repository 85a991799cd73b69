-- Lanes of one pool that are ready at one level, the longest ready first.
select lane_id, ready_at from lane_level
 where pool = ?1 and level = ?2 and ready_at <= ?3
 order by ready_at limit ?4
