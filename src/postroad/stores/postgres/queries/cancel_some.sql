-- Cancel, or ask for, the next messages of a walk over a queue's rungs.
select postroad.cancel_some_v1($1, $2, $3, $4, $5, $6, $7, $8)
