-- Processes that own nothing and were not heard from for long.
delete from process where beat_at <= ?1 and id not in (select owner from lane where owner is not null)
