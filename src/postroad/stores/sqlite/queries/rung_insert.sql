-- A new rung, under its queue's block if there is one, with a number that no rung ever had; none where
-- the queue is gone.
insert into rung (id, lane_id, queue_id, level, priority, slot, blocked_until)
select 1 + max(w.rung, coalesce((select max(id) from rung), 0)), ?1, ?2, ?3, ?4, ?5,
       case when ?3 < 0 or q.paused_at > 0 then 4611686018427387904 else q.block_until end
  from queue q, queue_walk w where q.id = ?2 and w.one = 1
returning id
