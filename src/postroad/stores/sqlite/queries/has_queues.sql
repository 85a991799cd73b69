-- How many queues a tenant has, up to a number.
select count(*) from (select 1 from queue where tenant = ?1 limit ?2)
