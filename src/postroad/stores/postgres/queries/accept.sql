-- Storing messages, and those sent inside a caller's own transaction.

-- name: accept
-- Store drafts; returns which idempotency keys were used before, and whom to ring.
select postroad.accept($1, $2, $3, $4, $5, $6, $7::text::bigint[], $8::text::int[], $9, $10::text::bigint[],
  $11::text::bigint[], $12, $13, $14, $15, $16, $17, $18, $19)

-- name: replace_keys
-- Cancel earlier messages with these keys that have not started.
select postroad.replace_keys($1, $2, $3, $4, $5, $6, $7)

-- name: arrive
-- Store messages inside the caller's own transaction; the ring is heard if it commits.
select postroad.arrive($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: move_arrivals
-- Move messages of callers' transactions to their rungs.
select postroad.move_arrivals($1)

-- name: are_queues
-- Whether all of these queues are there.
select count(*) = cardinality($1::bigint[]) from postroad.queue where id = any ($1)
