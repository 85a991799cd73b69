-- The dead set: in, looked at, replayed, purged.

-- name: dead_insert
-- Copy a message to the dead set with everything that a replay needs.
insert or ignore into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at,
                            priority, order_group, order_key, error, status, headers, body)
select m.id, r.queue_id, r.lane_id, ?2, ?3, m.level, m.attempts + ?4, m.accepted_at, r.priority,
       r.order_group, m.order_key, ?5, ?6, m.headers, m.body
  from message m join rung r on r.id = m.rung_id where m.id = ?1

-- name: dead_page
-- Read a page of the dead set by tenant, queue, reason, error text and time, the latest death
-- first.
select d.id, q.tenant, q.name, d.reason, d.error, d.status, d.died_at, d.accepted_at, d.level,
       d.attempts, d.priority, d.order_key
  from dead d cross join queue q on q.id = d.queue_id
 where d.died_at >= ?5 and d.died_at < ?6 and (d.died_at, d.id) < (?7, ?8)
   and (?1 is null or q.tenant = ?1) and (?2 is null or q.name = ?2)
   and (?3 is null or d.reason = ?3) and (?4 is null or instr(lower(d.error), lower(?4)) > 0)
 order by d.died_at desc, d.id desc limit ?9

-- name: dead_letter
-- Read one dead message of a tenant, with its headers and body.
select d.id, q.tenant, q.name, d.reason, d.error, d.status, d.died_at, d.accepted_at, d.level,
       d.attempts, d.priority, d.order_key, d.headers, d.body
  from dead d join queue q on q.id = d.queue_id
 where d.id = ?1 and (?2 is null or q.tenant = ?2)

-- name: dead_pick
-- Choose dead messages for a replay or a purge by tenant, queue, reason, error text and time, the
-- longest dead first: of many queues.
select d.id, d.queue_id, d.lane_id, d.priority, d.order_group, d.accepted_at
  from dead d cross join queue q on q.id = d.queue_id
 where d.died_at >= ?5 and d.died_at < ?6
   and (?1 is null or q.tenant = ?1) and (?2 is null or q.name = ?2)
   and (?3 is null or d.reason = ?3) and (?4 is null or instr(lower(d.error), lower(?4)) > 0)
 order by d.died_at, d.id limit ?7

-- name: dead_pick_queue
-- The same of one queue of a tenant, whatever is dead beside it.
select d.id, d.queue_id, d.lane_id, d.priority, d.order_group, d.accepted_at
  from dead d
 where d.queue_id = (select id from queue where tenant = ?1 and name = ?2) and d.died_at >= ?5 and d.died_at < ?6
   and (?3 is null or d.reason = ?3) and (?4 is null or instr(lower(d.error), lower(?4)) > 0)
 order by d.died_at, d.id limit ?7

-- name: dead_pick_tenant
-- The same of a tenant with few queues (?2 is null), whatever others have.
select d.id, d.queue_id, d.lane_id, d.priority, d.order_group, d.accepted_at
  from queue q cross join dead d on d.queue_id = q.id and d.died_at >= ?5 and d.died_at < ?6
 where q.tenant = ?1 and ?2 is null
   and (?3 is null or d.reason = ?3) and (?4 is null or instr(lower(d.error), lower(?4)) > 0)
 order by d.died_at, d.id limit ?7

-- name: dead_find
-- Choose one dead message of a tenant for a replay or a purge.
select d.id, d.queue_id, d.lane_id, d.priority, d.order_group, d.accepted_at
  from dead d join queue q on q.id = d.queue_id
 where d.id = ?1 and (?2 is null or q.tenant = ?2)

-- name: held_head
-- Find the exhausted head that holds an order group of a tenant.
select m.id, r.queue_id, r.lane_id, r.priority, r.order_group, m.accepted_at, m.rung_id, m.place
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id = ?1 and (?2 is null or q.tenant = ?2) and r.held <> ''
   and not exists (select 1 from message ahead where ahead.rung_id = m.rung_id
                      and (ahead.place, ahead.id) < (m.place, m.id))

-- name: not_dead
-- Tell where a tenant's message is that is not in the dead set.
select case when r.level < 0 then 'uncertain' else 'not finished' end
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id = ?1 and (?2 is null or q.tenant = ?2)
union all
select h.state from history h join queue q on q.id = h.queue_id
 where h.id = ?1 and (?2 is null or q.tenant = ?2)

-- name: dead_revive
-- Put a dead message back on a rung, due, at a level, without a deadline.
insert into message (id, rung_id, place, due, level, attempts, accepted_at, expires_at, order_key,
                     headers, body)
select id, ?2, ?3, ?4, ?5, attempts, accepted_at, 4611686018427387904, order_key, headers, body
  from dead where id = ?1

-- name: held_revive
-- Make the exhausted head of an order group due again, at a level, without a deadline.
update message set level = ?2, due = ?3, expires_at = 4611686018427387904, marks = 0 where id = ?1

-- name: dead_delete
-- Delete a message from the dead set.
delete from dead where id = ?1

-- name: dead_trim
-- Delete the longest dead beyond so many, a slice at a time.
delete from dead
 where id in (select id from dead order by died_at, id
               limit max(0, min(?2, (select count(*) from dead) - ?1)))
returning id, queue_id
