-- The tries of a message that did not deliver.
select number, started_at, level, kind, status, took_ms, error from postroad.attempt
 where message_id = $1 order by number
