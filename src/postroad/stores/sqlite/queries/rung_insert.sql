-- A new rung, under its queue's block if there is one.
insert into rung (lane_id, queue_id, level, priority, slot, blocked_until)
select ?1, ?2, ?3, ?4, ?5,
       case when ?3 < 0 or paused_at > 0 then 4611686018427387904 else block_until end
  from queue where id = ?2
returning id
