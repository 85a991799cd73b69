-- Copies of messages in the broker: which are spent, and which starts are noted.

-- name: known
-- Reads what is known of messages (a JSON list of ids): spent copies, noted starts, whether finished.
select j.id, coalesce(b.hop, -1), coalesce(b.starts, 0),
       exists (select from postroad.finished(array[j.id]))
  from (select value::bigint as id from json_array_elements_text($1::json)) j
  left join postroad.broker_message b on b.id = j.id
 where b.id is not null or exists (select from postroad.finished(array[j.id]))

-- name: spend
-- Records a copy as spent: where the next one waits, or that there is none (done), as after a delivery by an earlier try.
insert into postroad.broker_message as b (id, hop, done, queue_id, lane_id, level, priority, attempts, due, accepted_at,
                            expires_at, noted_at)
values ($1, $2, greatest($3, exists (select from postroad.finished(array[$1::bigint]))::int),
        $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (id) do update
   set hop = greatest(b.hop, excluded.hop), starts = 0, done = excluded.done,
       level = excluded.level, attempts = excluded.attempts, due = excluded.due,
       expires_at = excluded.expires_at, noted_at = excluded.noted_at
 where b.hop <= excluded.hop

-- name: finish
-- Records that no copy of a message is on its way any more.
update postroad.broker_message set hop = greatest(hop, $2), starts = 0, done = 1, noted_at = $3
 where id = $1

-- name: start_add
-- Notes that a message is about to start.
insert into postroad.broker_message as b (id, hop, starts, queue_id, lane_id, level, priority, attempts, due, accepted_at,
                            expires_at, noted_at)
values ($1, -1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (id) do update set starts = b.starts + 1, noted_at = excluded.noted_at

-- name: start_remove
-- Takes a noted start back: the message was not started, or its try has ended.
update postroad.broker_message set starts = greatest(0, starts - $2) where id = $1

-- name: copies_forget
-- Deletes rows of messages that were done before a time, a slice at a time.
delete from postroad.broker_message
 where id in (select id from postroad.broker_message where done = 1 and noted_at < $1 limit $2)
