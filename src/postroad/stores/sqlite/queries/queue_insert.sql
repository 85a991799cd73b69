-- A new queue.
insert into queue (tenant, name, transport, policy) values (?1, ?2, ?3, ?4) returning id
