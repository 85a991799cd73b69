-- A copy is spent: where the next one waits, or that there is none (done). Of one that was delivered
-- meanwhile, by an earlier try, there is none either.
insert into postroad.broker_message as b (id, hop, done, queue_id, lane_id, level, priority, attempts, due, accepted_at,
                            expires_at, noted_at)
values ($1, $2, greatest($3, exists (select from postroad.finished(array[$1::bigint]))::int),
        $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (id) do update
   set hop = greatest(b.hop, excluded.hop), starts = 0, done = excluded.done,
       level = excluded.level, attempts = excluded.attempts, due = excluded.due,
       expires_at = excluded.expires_at, noted_at = excluded.noted_at
 where b.hop <= excluded.hop
