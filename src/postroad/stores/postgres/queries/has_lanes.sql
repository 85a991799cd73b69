-- How many lanes a tenant has, up to a number.
select count(*) from (select from postroad.lane where tenant = $1 limit $2) x
