-- Processes that were not heard from since a time.
select id from process where beat_at <= ?1
