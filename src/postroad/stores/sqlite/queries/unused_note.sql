-- A queue is seen unused; if it looks as before, since the first time.
insert into unused_queue (queue_id, since, look) values (?1, ?2, ?3)
on conflict (queue_id) do update set since = excluded.since, look = excluded.look
 where look <> excluded.look
