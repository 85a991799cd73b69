-- How many other messages of a lane or queue can go by a time, up to a number. Of an ordered slot
-- that is its head, and of the message's own slot nobody: they go one after the other.
select count(*) from (
  select m.id from rung r cross join message m on m.rung_id = r.id
   where (r.lane_id = ?1 or r.queue_id = ?2) and r.slot = 0 and r.level >= 0
     and r.blocked_until <= ?3 and m.place <= ?3 and m.id <> ?4
  union all
  select r.id from rung r
   where (r.lane_id = ?1 or r.queue_id = ?2) and r.slot > 0 and r.id <> ?5
     and r.blocked_until <= ?3
     and (select m.due from message m where m.rung_id = r.id order by m.place, m.id limit 1) <= ?3
  limit ?6)
