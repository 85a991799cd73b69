-- All rungs of a lane that look ready are so when their first message is.
update rung
   set ready_at = max(blocked_until,
                      coalesce((select m.due from message m where m.rung_id = rung.id
                                 order by m.place, m.id limit 1), 4611686018427387904))
 where lane_id = ?1 and ready_at <= ?2
