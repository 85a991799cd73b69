-- A tenant's credentials, by name.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from postroad.credential where tenant = $1 order by name
