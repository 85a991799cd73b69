-- Whether lanes of more than one tenant are or will be ready at a level. Most roads have one.
select (select tenant from lane_level indexed by lane_level_turn
         where pool = ?1 and level = ?2 and ready_at < 4611686018427387904
         order by tenant limit 1)
    <> (select tenant from lane_level indexed by lane_level_turn
         where pool = ?1 and level = ?2 and ready_at < 4611686018427387904
         order by tenant desc limit 1)
