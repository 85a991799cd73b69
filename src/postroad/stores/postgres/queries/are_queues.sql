-- Whether all of these queues are there.
select count(*) = cardinality($1::bigint[]) from postroad.queue where id = any ($1)
