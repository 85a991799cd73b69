-- How many campaigns a tenant has, up to a number.
select count(*) from (select from postroad.campaign where tenant = $1 limit $2) x
