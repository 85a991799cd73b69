-- How rungs are found, made, woken and held, and how an order group goes on.

-- name: rung_by_id
-- Read a rung by its number.
select id, lane_id, queue_id, level, priority, order_group, ready_at from rung where id = ?1

-- name: rung_find_plain
-- Find the rung of a queue's unordered messages at a level and priority.
select id from rung where lane_id = ?1 and queue_id = ?2 and level = ?3 and priority = ?4 and order_group = 0

-- name: rung_find_order_group
-- Find the rung of an order group, whatever level its head is at.
select id from rung where lane_id = ?1 and queue_id = ?2 and order_group = ?3 and order_group > 0

-- name: rung_insert
-- Insert a rung under its queue's block, with a number that no rung ever had; inserts none if the
-- queue is deleted, or has moved to another lane.
insert into rung (id, lane_id, queue_id, level, priority, order_group, blocked_until)
select 1 + max(w.rung, coalesce((select max(id) from rung), 0)), ?1, ?2, ?3, ?4, ?5,
       case when ?3 < 0 or q.paused_at > 0 then 4611686018427387904 else q.block_until end
  from queue q, queue_walk w where q.id = ?2 and w.one = 1
   and exists (select 1 from queue_lane ql where ql.queue_id = ?2 and ql.lane_id = ?1)
returning id

-- name: rung_next_place
-- Take the next position in an order group: inside the accepting transaction, so that the order of
-- acceptance is the order of commits.
update rung set last_place = last_place + 1 where id = ?1 returning last_place

-- name: rung_wake
-- Make a rung ready from a time on, not before its block ends, unless it is ready sooner. Where no
-- positions are given, last_place counts how often it was woken, which tells whether it is used.
update rung set ready_at = max(?2, blocked_until), last_place = last_place + (order_group = 0)
 where id = ?1 and ready_at > max(?2, blocked_until)

-- name: rung_state
-- Read what a wake needs: when the rung is ready, who owns its lane, and from when on new traffic
-- may have a probe.
select r.level, r.ready_at, r.blocked_until, l.id, l.owner, l.pool, l.tenant,
       case when l.paused_at > 0 then 4611686018427387904
            else max(min(l.circuit_early, l.circuit_until), l.wanted_until) end
  from rung r join lane l on l.id = r.lane_id where r.id = ?1

-- name: rung_set_level
-- Set an order group to the level of its head, ready when the head is due.
update rung set level = ?2, ready_at = max(?3, blocked_until) where id = ?1

-- name: rung_hold
-- Let the exhausted head of an order group hold the order group.
update rung set held = ?2, blocked_until = 4611686018427387904, ready_at = 4611686018427387904
 where id = ?1

-- name: order_group_settle
-- Let an order group go on with its present head: at the head's level and due time, held by
-- nobody.
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
 where id = ?1 and order_group > 0
   and not exists (select 1 from message m where m.rung_id = rung.id and m.place < ?2)
returning lane_id
