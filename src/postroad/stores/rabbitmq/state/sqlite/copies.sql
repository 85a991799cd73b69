-- Copies of messages in the broker: which are spent, and which starts are noted.

-- name: known
-- Reads what is known of messages (a JSON list of ids): spent copies, noted starts, whether finished.
select j.value, coalesce(b.hop, -1), coalesce(b.starts, 0), h.id is not null
  from json_each(?1) j
  left join broker_message b on b.id = j.value
  left join history h on h.id = j.value
 where b.id is not null or h.id is not null

-- name: spend
-- Records a copy as spent: where the next one waits, or that there is none (done), as after a delivery by an earlier try.
insert into broker_message (id, hop, done, queue_id, lane_id, level, priority, attempts, due, accepted_at,
                            expires_at, noted_at)
values (?1, ?2, max(?3, exists (select 1 from history where id = ?1)),
        ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
on conflict (id) do update
   set hop = max(hop, excluded.hop), starts = 0, done = excluded.done, level = excluded.level,
       attempts = excluded.attempts, due = excluded.due, expires_at = excluded.expires_at,
       noted_at = excluded.noted_at
 where hop <= excluded.hop

-- name: finish
-- Records that no copy of a message is on its way any more.
update broker_message set hop = max(hop, ?2), starts = 0, done = 1, noted_at = ?3 where id = ?1

-- name: start_add
-- Notes that a message is about to start.
insert into broker_message (id, hop, starts, queue_id, lane_id, level, priority, attempts, due, accepted_at,
                            expires_at, noted_at)
values (?1, -1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
on conflict (id) do update set starts = starts + 1, noted_at = excluded.noted_at

-- name: start_remove
-- Takes a noted start back: the message was not started, or its try has ended.
update broker_message set starts = max(0, starts - ?2) where id = ?1

-- name: copies_forget
-- Deletes rows of messages that were done before a time, a slice at a time.
delete from broker_message
 where id in (select id from broker_message where done = 1 and noted_at < ?1 limit ?2)
