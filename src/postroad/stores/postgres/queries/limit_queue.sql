-- A queue's limit from now on.
select postroad.limit_queue($1, $2, $3, $4, $5)
