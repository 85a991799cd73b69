-- A delivered message; the first word on it stands. One that was dead is late. Tries that others
-- have made meanwhile count too; where this very one was in doubt, it is counted already.
insert into postroad.history_batch (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                           took_ms)
select $1::bigint, $2::bigint, 'delivered', exists (select from postroad.dead where id = $1),
       $3::bigint, $4::bigint, $5::int,
       greatest($6::int, coalesce((select attempts from postroad.broker_message where id = $1), 0)
                         + (not exists (select from postroad.message where id = $1))::int),
       $7::int
 where not exists (select from postroad.finished(array[$1::bigint]))
