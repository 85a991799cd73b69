-- What people ask of messages.

-- name: cancel
-- Cancel messages of lanes that nobody owns; ask the owners of the others.
select postroad.cancel($1, $2, $3)

-- name: cancel_some
-- Cancel the next slice of a queue's messages, or ask their owners to.
select postroad.cancel_slice($1, $2, $3, $4, $5, $6, $7, $8)

-- name: settle
-- An uncertain message counts as delivered, or goes back to its rung.
select postroad.settle($1, $2, $3)
