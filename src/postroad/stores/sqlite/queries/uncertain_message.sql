-- Where a tenant's uncertain message came from.
select r.lane_id, r.queue_id, m.level, r.priority from message m
  join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id = ?1 and r.level < 0 and q.tenant = ?2
