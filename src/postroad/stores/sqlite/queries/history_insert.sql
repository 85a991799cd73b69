-- Finished work; the first word on a message stands.
insert or ignore into history (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                               took_ms)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
