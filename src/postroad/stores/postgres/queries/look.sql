-- The rungs of owned lanes that became ready, or are named, with their queues.
select postroad.look($1::text::bigint[], $2::text::bigint[], $3, $4, $5)
