-- An ordered slot goes on with whoever is its head now: at its level, at its time, held by nobody.
update rung
   set held = '',
       level = coalesce((select m.level from message m where m.rung_id = rung.id
                          order by m.place, m.id limit 1), 0),
       blocked_until = (select case when q.paused_at > 0 then 4611686018427387904
                                    else q.block_until end from queue q where q.id = rung.queue_id),
       ready_at = max((select case when q.paused_at > 0 then 4611686018427387904
                                   else q.block_until end from queue q where q.id = rung.queue_id),
                      coalesce((select m.due from message m where m.rung_id = rung.id
                                 order by m.place, m.id limit 1), 4611686018427387904))
 where id = ?1 and slot > 0
   and not exists (select 1 from message m where m.rung_id = rung.id and m.place < ?2)
returning lane_id
