-- The next tenant after one with a lane of a pool that is to be ready at a level at some time.
select tenant from lane_level indexed by lane_level_turn
 where pool = ?1 and level = ?2 and tenant > ?3 and ready_at < 4611686018427387904
 order by tenant limit 1
