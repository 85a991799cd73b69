-- A queue's limit from now on.
select postroad.limit_queue_v1($1, $2, $3, $4, $5)
