-- Lanes of one tenant and pool that are ready at one level, the longest ready first.
select ready_at, lane_id, tenant from lane_level indexed by lane_level_turn
 where pool = ?1 and level = ?2 and tenant = ?3 and ready_at <= ?4 and ready_at < 4611686018427387904
 order by ready_at limit ?5
