-- Messages that were to be cancelled, of lanes that nobody owns any more.
select m.id from message m join rung r on r.id = m.rung_id join lane l on l.id = r.lane_id
 where m.unwanted = 1 and l.owner is null
