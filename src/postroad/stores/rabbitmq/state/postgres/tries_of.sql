-- The tries of a webhook message, in order.
select number, started_at, level, outcome, status, took_ms, answered_ms, address, fault, error,
       headers, answer
  from postroad.webhook_try where message_id = $1 order by id
