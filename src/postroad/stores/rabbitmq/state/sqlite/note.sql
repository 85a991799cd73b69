-- A message is about to start.
insert into broker_message (id, hop, starts, queue_id, lane_id, level, priority, attempts, due, accepted_at,
                            expires_at, noted_at)
values (?1, -1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
on conflict (id) do update set starts = starts + 1, noted_at = excluded.noted_at
