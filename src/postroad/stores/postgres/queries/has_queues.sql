-- How many queues a tenant has, up to a number.
select count(*) from (select from postroad.queue where tenant = $1 limit $2) x
