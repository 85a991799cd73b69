-- Messages that owners were asked to cancel which were not heard from since a time.
select m.id, m.rung_id, m.place from message m
  cross join rung r on r.id = m.rung_id cross join lane l on l.id = r.lane_id
  left join process p on p.id = l.owner
 where m.unwanted = 1 and l.owner is not null and coalesce(p.beat_at, 0) <= ?1
 limit ?2
