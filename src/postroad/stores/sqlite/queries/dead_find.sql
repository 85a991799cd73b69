-- What a replay needs to know of one dead message of a tenant.
select d.id, d.queue_id, d.lane_id, d.priority, d.slot, d.accepted_at
  from dead d join queue q on q.id = d.queue_id
 where d.id = ?1 and (?2 is null or q.tenant = ?2)
