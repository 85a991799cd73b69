-- A queue's rungs obey its gate: the later of its block and of each rung's first message.
update rung
   set blocked_until = (select case when q.paused_at > 0 then 4611686018427387904
                                    else q.block_until end
                          from queue q where q.id = rung.queue_id),
       ready_at = max((select case when q.paused_at > 0 then 4611686018427387904
                                   else q.block_until end
                         from queue q where q.id = rung.queue_id),
                      coalesce((select m.due from message m where m.rung_id = rung.id
                                 order by m.place, m.id limit 1), 4611686018427387904))
 where queue_id = ?1 and held = '' and level >= 0
