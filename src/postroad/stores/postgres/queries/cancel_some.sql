-- Cancel the next messages of a walk over the rungs of a queue, or ask their owners to.
select postroad.cancel_slice($1, $2, $3, $4, $5, $6, $7, $8)
