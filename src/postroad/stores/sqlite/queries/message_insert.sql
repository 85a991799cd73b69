-- An accepted message.
insert into message (id, rung_id, place, due, level, accepted_at, expires_at, order_key, headers, body)
values (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9)
