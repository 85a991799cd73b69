-- The messages of a rung after a cursor, in order.
select id, level, attempts, marks, place, due, accepted_at, expires_at, body, headers
  from message
 where rung_id = ?1 and (place, id) > (?2, ?3)
 order by place, id limit ?4
