-- A delivered message; the first word on it stands. One that was dead is late.
insert or ignore into history (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                               took_ms)
values (?1, ?2, 'delivered', exists (select 1 from dead where id = ?1), ?3, ?4, ?5, ?6, ?7)
