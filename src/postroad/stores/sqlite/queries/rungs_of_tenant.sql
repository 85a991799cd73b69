-- The rungs of a tenant's queues, from one on, each with its lane's owner.
select r.id, r.lane_id, l.owner, r.level
  from rung r cross join queue q on q.id = r.queue_id cross join lane l on l.id = r.lane_id
 where q.tenant = ?1 and r.id >= ?2 order by r.id limit ?3
