-- The limit of a credential.
select id, cost, spacing_us, counted, next_us, spec from pace
 where queue_id = 0 and tenant = ?1 and transport = ?2 and server = ?3 and credential = ?4
