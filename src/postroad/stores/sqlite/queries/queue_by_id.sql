-- A queue by its number.
select id, tenant, name, policy, paused_at, block_kind, block_until, block_reason, block_streak,
       block_since, resumed_at
  from queue where id = ?1
