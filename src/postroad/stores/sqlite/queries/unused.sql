-- The search for queues that nobody uses, and how they are deleted.

-- name: walk_due
-- Read how far the search has come, if it may go on; not where messages are in a broker, which are
-- not seen from here.
select after_id from queue_walk
 where one = 1 and next_at <= ?1 and not exists (select 1 from broker_message)

-- name: walk_note
-- Note how far the search has come, and when it may go on.
update queue_walk set after_id = ?1, next_at = ?2 where one = 1

-- name: unused_queues
-- Read the next queues, with how often their rungs were woken if they hold nothing and nobody has
-- set anything for them, else null. Queues of handlers stay: who only sends could not make them
-- anew.
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
     and not exists (select 1 from batch_held h where h.queue_id = q.id)
     and not exists (select 1 from idempotency i where i.queue_id = q.id and i.expires_at > ?3)
     and not exists (select 1 from webhook w where w.queue_id = q.id)
     and not exists (select 1 from pace p where p.queue_id = q.id and p.spec || p.hours <> '')
     and not exists (select 1 from credential c
                      where c.tenant = q.tenant and q.name = q.transport || ':' || c.name)
     and not exists (select 1 from queue_lane ql join lane l on l.id = ql.lane_id
                      where ql.queue_id = q.id
                        and (l.paused_at > 0 or l.circuit_until > ?3 or exists (
                          select 1 from pace p
                           where p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
                             and p.server = l.server and p.credential = l.credential
                             and p.spec || p.hours <> ''))))
  from next n order by n.id

-- name: unused_note
-- Note that a queue is unused; if nothing has changed, since the first note.
insert into unused_queue (queue_id, since, look) values (?1, ?2, ?3)
on conflict (queue_id) do update set since = excluded.since, look = excluded.look
 where look <> excluded.look

-- name: unused_forget
-- Delete the note that a queue is unused.
delete from unused_queue where queue_id = ?1

-- name: unused_long
-- Tell whether a queue has been unused since before a time, and nobody owns one of its lanes.
select 1 from unused_queue u
 where u.queue_id = ?1 and u.since <= ?2
   and not exists (select 1 from queue_lane ql join lane l on l.id = ql.lane_id
                    where ql.queue_id = u.queue_id and l.owner is not null)

-- name: numbers_note
-- Note the numbers of a queue, its rungs and lanes, so that they are not given again.
update queue_walk
   set queue = max(queue, ?1),
       lane = max(lane, coalesce((select max(lane_id) from queue_lane where queue_id = ?1), 0)),
       rung = max(rung, coalesce((select max(id) from rung where queue_id = ?1), 0))
 where one = 1

-- name: keys_delete
-- Delete a queue's idempotency keys.
delete from idempotency where queue_id = ?1

-- name: rungs_delete
-- Delete a queue's rungs.
delete from rung where queue_id = ?1

-- name: queue_lanes_delete
-- Delete which lanes serve a queue.
delete from queue_lane where queue_id = ?1

-- name: queue_delete
-- Delete a queue.
delete from queue where id = ?1

-- name: lane_delete
-- Delete a lane that serves no queue and that nobody owns.
delete from lane
 where id = ?1 and owner is null and not exists (select 1 from queue_lane where lane_id = ?1)
returning id

-- name: lane_levels_delete
-- Delete a lane's levels.
delete from lane_level where lane_id = ?1
