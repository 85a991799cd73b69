-- Where a message waits, as far as is known.
select q.tenant, q.name, b.lane_id, b.level, b.attempts, b.due, b.accepted_at, b.expires_at
  from postroad.broker_message b join postroad.queue q on q.id = b.queue_id
 where b.id = $1 and b.done = 0
