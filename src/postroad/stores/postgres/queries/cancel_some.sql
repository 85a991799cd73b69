-- Cancel the next messages of a walk over the rungs of a queue, or ask their owners to.
select postroad.cancel_some_v1($1, $2, $3, $4, $5, $6, $7, $8)
