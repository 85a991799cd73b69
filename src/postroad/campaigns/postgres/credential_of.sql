-- The credential that a campaign sends with.
select c.id, c.tenant, c.name, c.kind, c.spec, c.key, c.sealed, c.blocked_until, c.block_reason,
       c.block_streak, c.created_at
  from postroad.campaign x join postroad.credential c on c.id = x.credential where x.id = $1
