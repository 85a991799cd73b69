-- What waits of a queue, of a lane, or (0, 0) at all, as far as is known, and how it stands.
select q.id, q.tenant, q.name, l.id, l.transport, b.level,
       case when q.paused_at > 0 or l.paused_at > 0 or q.block_kind = 'disabled' then 'held'
            when q.block_until > $3 or l.circuit_until > $3 then 'blocked'
            else 'waiting' end,
       q.paused_at > 0 or l.paused_at > 0 or q.block_until > $3, count(*), min(b.due)
  from postroad.broker_message b join postroad.queue q on q.id = b.queue_id
  join postroad.lane l on l.id = b.lane_id
 where b.done = 0 and ($1::bigint = 0 or b.queue_id = $1) and ($2::bigint = 0 or b.lane_id = $2)
 group by 1, 2, 3, 4, 5, 6, 7, 8
