-- Cancelling and settling.

-- name: live_message
-- Find the lane, its owner, the level and the tenant of an unfinished message.
select r.lane_id, l.owner, r.level, q.tenant from message m
  join rung r on r.id = m.rung_id join lane l on l.id = r.lane_id join queue q on q.id = r.queue_id
 where m.id = ?1

-- name: finished_message
-- Tell what became of a tenant's finished message: cancelled, or final otherwise.
select case h.state when 'cancelled' then 'cancelled' else 'final' end
  from history h join queue q on q.id = h.queue_id where h.id = ?1 and q.tenant = ?2
union all
select 'final' from dead d join queue q on q.id = d.queue_id where d.id = ?1 and q.tenant = ?2

-- name: uncertain_message
-- Find where a tenant's uncertain message came from.
select r.lane_id, r.queue_id, m.level, r.priority from message m
  join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id = ?1 and r.level < 0 and q.tenant = ?2

-- name: unwanted
-- Find messages to be cancelled whose lane's owner was not heard from since a time.
select m.id, m.rung_id, m.place from message m
  cross join rung r on r.id = m.rung_id cross join lane l on l.id = r.lane_id
  left join process p on p.id = l.owner
 where m.unwanted = 1 and l.owner is not null and coalesce(p.beat_at, 0) <= ?1
 limit ?2

-- name: rungs_of_queue
-- List the rungs of a queue from a number on, each with its lane's owner.
select r.id, r.lane_id, l.owner, r.level
  from queue q cross join rung r on r.queue_id = q.id cross join lane l on l.id = r.lane_id
 where q.tenant = ?1 and q.name = ?2 and r.id >= ?3 order by r.id limit ?4

-- name: rungs_of_tenant
-- List the rungs of a tenant's queues from a number on, each with its lane's owner.
select r.id, r.lane_id, l.owner, r.level
  from rung r cross join queue q on q.id = r.queue_id cross join lane l on l.id = r.lane_id
 where q.tenant = ?1 and r.id >= ?2 order by r.id limit ?3

-- name: rung_walk
-- Read the next messages of a rung for a walk over all of them.
select place, id, accepted_at, order_key from message
 where rung_id = ?1 and (place, id) > (?2, ?3) order by place, id limit ?4
