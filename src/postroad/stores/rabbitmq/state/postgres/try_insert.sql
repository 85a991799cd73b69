-- What was seen of a webhook's try; written twice it counts once.
insert into postroad.webhook_try (message_id, number, started_at, level, outcome, status, took_ms,
                                  answered_ms, address, fault, error, headers, answer)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict do nothing
