-- A lane's messages that are not finished, by state and level.
select r.lane_id,
       case when r.level < 0 then 'uncertain'
            when r.blocked_until > ?2 or l.paused_at > 0 then 'held' else 'waiting' end,
       m.level, count(*), min(m.due)
  from rung r join lane l on l.id = r.lane_id join message m on m.rung_id = r.id
 where r.lane_id = ?1 group by 1, 2, 3
