-- The rungs of a queue, from one on, each with its lane's owner.
select r.id, r.lane_id, l.owner, r.level
  from queue q cross join rung r on r.queue_id = q.id cross join lane l on l.id = r.lane_id
 where q.tenant = ?1 and q.name = ?2 and r.id >= ?3 order by r.id limit ?4
