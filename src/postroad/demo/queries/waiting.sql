-- How many messages wait, by server and retry level.
select l.server, r.level, count(*)
  from message m join rung r on r.id = m.rung_id join lane l on l.id = r.lane_id
 group by l.server, r.level
