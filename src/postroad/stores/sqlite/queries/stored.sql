-- The next messages in order of id by tenant: how many, how many bytes, and the last one.
select q.tenant, count(*), sum(m.size), max(m.id)
  from (select id, rung_id, length(body) + length(headers) as size from message
         where id > ?1 order by id limit ?2) m
  join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 group by q.tenant
