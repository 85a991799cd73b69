-- Credentials of all tenants that are not sealed with a key.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from postroad.credential where key <> $1 and id > $2 order by id limit $3
