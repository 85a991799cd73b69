-- A queue by its owner and name.
select id, tenant, name, policy, paused_at, block_kind, block_until, block_reason, block_streak,
       block_since, resumed_at
  from queue where tenant = ?1 and name = ?2
