-- What a replay needs to know of the dead by tenant, queue, reason, error text and time, the
-- longest dead first.
select d.id, d.queue_id, d.lane_id, d.priority, d.slot, d.accepted_at
  from dead d cross join queue q on q.id = d.queue_id
 where d.died_at >= ?5 and d.died_at < ?6
   and (?1 is null or q.tenant = ?1) and (?2 is null or q.name = ?2)
   and (?3 is null or d.reason = ?3) and (?4 is null or instr(lower(d.error), lower(?4)) > 0)
 order by d.died_at, d.id limit ?7
