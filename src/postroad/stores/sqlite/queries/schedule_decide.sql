-- A schedule is decided up to a time, by this plan; never less far than before.
update schedule set cron = ?2, tz = ?3, decided_to = max(decided_to, ?4) where name = ?1
