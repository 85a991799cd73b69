-- A dead message is live again: on a rung, at a place, due, at a level, without a deadline.
insert into message (id, rung_id, place, due, level, attempts, accepted_at, expires_at, order_key,
                     headers, body)
select id, ?2, ?3, ?4, ?5, attempts, accepted_at, 4611686018427387904, order_key, headers, body
  from dead where id = ?1
