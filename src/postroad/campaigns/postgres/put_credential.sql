-- Keep a credential, instead of one of the same name.
insert into postroad.credential as c (tenant, name, kind, spec, key, sealed, created_at)
values ($1, $2, $3, $4, $5, $6, postroad.now_ms())
on conflict (tenant, name) do update set kind = excluded.kind, spec = excluded.spec,
  key = excluded.key, sealed = excluded.sealed, blocked_until = 0, block_reason = '', block_streak = 0
