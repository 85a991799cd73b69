-- Queues on lanes whose server has been away.
select q.id, q.policy, l.circuit_since, l.id from lane l
  join queue_lane ql on ql.lane_id = l.id join queue q on q.id = ql.queue_id
 where l.circuit_opened > 0 and l.paused_at = 0 and q.paused_at = 0 and l.circuit_since <= ?1
