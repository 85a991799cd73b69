-- The next queues, and for those that hold nothing and for which nobody has set anything how often their
-- rungs were woken; null for the others. Those of handlers stay: who only sends could not make them anew.
with next as materialized (select id from queue where id > ?1 order by id limit ?2)
select n.id, (
  select (select coalesce(group_concat(r.id || ' ' || r.last_place), '') from rung r where r.queue_id = q.id)
    from queue q
   where q.id = n.id and q.transport <> 'handler' and q.paused_at = 0 and q.block_kind <> 'disabled' and q.block_until <= ?3
     and not exists (select 1 from rung r
                      where r.queue_id = q.id
                        and (r.ready_at < 4611686018427387904 or r.held <> ''
                             or exists (select 1 from message m where m.rung_id = r.id)))
     and not exists (select 1 from dead d where d.queue_id = q.id)
     and not exists (select 1 from idempotency i where i.queue_id = q.id and i.expires_at > ?3)
     and not exists (select 1 from webhook w where w.queue_id = q.id)
     and not exists (select 1 from pace p where p.queue_id = q.id and p.spec <> '')
     and not exists (select 1 from credential c
                      where c.tenant = q.tenant and q.name = q.transport || ':' || c.name)
     and not exists (select 1 from queue_lane ql join lane l on l.id = ql.lane_id
                      where ql.queue_id = q.id
                        and (l.paused_at > 0 or l.circuit_until > ?3 or exists (
                          select 1 from pace p
                           where p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
                             and p.server = l.server and p.credential = l.credential
                             and p.spec <> ''))))
  from next n order by n.id
