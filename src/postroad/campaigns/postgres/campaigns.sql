-- A tenant's campaigns, in the order in which they were made.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, created_at, started_at, ended_at
  from postroad.campaign where tenant = $1 and id > $2 order by id limit $3
