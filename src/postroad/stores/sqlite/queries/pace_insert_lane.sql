-- A limit for the credential of a lane that has had none.
insert into pace (tenant, transport, server, credential, spec, cost, spacing_us, counted)
select tenant, transport, server, credential, ?2, ?3, ?4, ?5 from lane where id = ?1
