-- A try that did not deliver.
insert into postroad.attempt (message_id, number, started_at, level, kind, status, took_ms, error)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing
