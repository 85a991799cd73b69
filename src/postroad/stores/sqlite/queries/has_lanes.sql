-- How many lanes a tenant has, up to a number.
select count(*) from (select 1 from lane where tenant = ?1 limit ?2)
