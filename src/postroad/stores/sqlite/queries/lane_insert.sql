-- A new lane, owned by nobody, with a number that no lane ever had.
insert into lane (id, tenant, transport, server, credential, shard, pool)
select 1 + max(w.lane, coalesce((select max(id) from lane), 0)), ?1, ?2, ?3, ?4, ?5, ?6
  from queue_walk w where w.one = 1
returning id
