-- A queue and what waits in it.
select postroad.queue_facts_v1($1, $2)
