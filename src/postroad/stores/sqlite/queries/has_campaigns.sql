-- How many campaigns a tenant has, up to a number.
select count(*) from (select 1 from campaign where tenant = ?1 limit ?2)
