-- A new lane, owned by nobody.
insert into lane (tenant, transport, server, credential, shard, pool)
values (?1, ?2, ?3, ?4, ?5, ?6) returning id
