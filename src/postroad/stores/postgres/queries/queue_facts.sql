-- A queue and what waits in it.
select postroad.queue_facts($1, $2)
