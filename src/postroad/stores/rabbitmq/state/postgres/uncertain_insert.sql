-- A message of which nobody knows whether it was sent.
insert into postroad.message (id, rung_id, place, due, level, attempts, accepted_at, expires_at,
                              headers, body)
select $1::bigint, r.id, $5::bigint, $5::bigint, $6::int, $7::int, $8::bigint, $9::bigint, $10::bytea,
       $11::bytea
  from postroad.rung r
 where r.lane_id = $2 and r.queue_id = $3 and r.level = -1 and r.priority = $4 and r.slot = 0
on conflict do nothing
