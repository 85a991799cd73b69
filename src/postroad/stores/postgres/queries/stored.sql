-- The next messages in order of id by tenant: how many, how many bytes, and the last one.
select q.tenant, count(*) as n, sum(m.size)::bigint as bytes, max(m.id) as last
  from (select id, rung_id, octet_length(body) + octet_length(headers) as size from postroad.message
         where id > $1 order by id limit $2) m
  join postroad.rung r on r.id = m.rung_id join postroad.queue q on q.id = r.queue_id
 group by q.tenant
