-- Where a message is that is not finished.
select r.lane_id, l.owner, r.level, q.tenant from message m
  join rung r on r.id = m.rung_id join lane l on l.id = r.lane_id join queue q on q.id = r.queue_id
 where m.id = ?1
