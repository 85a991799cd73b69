-- How many messages are known to wait for a queue or lane that is paused or blocked.
select count(*) from broker_message b join queue q on q.id = b.queue_id
  join lane l on l.id = b.lane_id
 where b.done = 0 and (q.paused_at > 0 or q.block_until > ?1 or l.paused_at > 0)
