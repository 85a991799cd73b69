-- The dead of a tenant, or of all (null), by reason.
select d.reason, count(*) from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where $1::text is null or q.tenant = $1 group by 1 order by 1
