-- A dead letter into the dead set, unless this copy is spent or it was delivered.
insert into postroad.dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at,
                           priority, slot, order_key, error, status, headers, body)
select $1::bigint, $3::bigint, $4::bigint, $5::text, $6::bigint, $7::int, $8::int, $9::bigint, $10::int,
       0, '', $11::text, $12::int, $13::bytea, $14::bytea
 where not exists (select from postroad.broker_message where id = $1 and hop >= $2)
   and not exists (select from postroad.finished(array[$1::bigint]))
on conflict do nothing
