-- The next part of the walk over queues that nobody uses.
select postroad.collect_unused($1, $2, $3, $4, $5)
