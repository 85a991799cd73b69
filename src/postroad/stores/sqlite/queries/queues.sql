-- How queues are found, made, paused and blocked.

-- name: queue_find
-- Find a queue's number by tenant and name.
select id from queue where tenant = ?1 and name = ?2

-- name: queue_by_id
-- Read a queue by its number, and whether there is any limit.
select id, tenant, name, policy, paused_at, block_kind, block_until, block_reason, block_streak,
       block_since, resumed_at, exists (select 1 from pace)
  from queue where id = ?1

-- name: queue_insert
-- Insert a queue with a number that no queue ever had.
insert into queue (id, tenant, name, transport, policy)
select 1 + max(w.queue, coalesce((select max(id) from queue), 0)), ?1, ?2, ?3, ?4
  from queue_walk w where w.one = 1
returning id

-- name: queue_policy
-- Set a queue's policy.
update queue set policy = ?2 where id = ?1 and policy <> ?2

-- name: queue_lane_insert
-- Set which lane serves a shard of a queue.
insert into queue_lane (queue_id, shard, lane_id) values (?1, ?2, ?3)

-- name: queue_lanes
-- List a queue's lanes by shard.
select lane_id from queue_lane where queue_id = ?1 order by shard

-- name: queue_pause
-- Pause a queue.
update queue set paused_at = ?2 where id = ?1 and paused_at = 0

-- name: queue_resume
-- Resume a queue; the pause does not count towards the spell of its block.
update queue
   set block_since = case when block_since > 0 then block_since + (?2 - paused_at) else 0 end,
       paused_at = 0, resumed_at = ?2
 where id = ?1 and paused_at > 0

-- name: queue_block
-- Set a queue's block; an empty kind lifts it.
update queue set block_kind = ?2, block_until = ?3, block_reason = ?4, block_streak = ?5,
                 block_since = ?6
 where id = ?1

-- name: queue_gate
-- Apply a queue's block or pause to its rungs: each is ready at the later of the block's end and
-- its first message's due time.
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
