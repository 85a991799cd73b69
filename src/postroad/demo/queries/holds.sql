-- The queues that are held now, why and until when.
select q.name, l.server, q.block_until, q.block_reason, q.block_streak, q.block_since
  from queue q join queue_lane ql on ql.queue_id = q.id and ql.shard = 0
  join lane l on l.id = ql.lane_id
 where q.block_until > ?1
 order by q.name
