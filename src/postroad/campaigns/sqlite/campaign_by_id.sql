-- The campaign of a number.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, created_at, started_at, ended_at
  from campaign where id = ?1
