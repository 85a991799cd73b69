-- A delivered message; the first word on it stands. One that was dead is late.
insert into postroad.history (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                              took_ms)
select $1::bigint, $2::bigint, 'delivered', exists (select from postroad.dead where id = $1), $3::bigint,
       $4::bigint, $5::int, $6::int, $7::int
 where not exists (select from postroad.history where id = $1)
