-- The credentials that campaigns send with.

-- name: credential_put
-- Keep a credential, in place of one of the same name.
insert into postroad.credential as c (tenant, name, kind, spec, key, sealed, created_at)
values ($1, $2, $3, $4, $5, $6, postroad.now_ms())
on conflict (tenant, name) do update set kind = excluded.kind, spec = excluded.spec,
  key = excluded.key, sealed = excluded.sealed, blocked_until = 0, block_reason = '', block_streak = 0

-- name: credential_find
-- The credential of a name.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from postroad.credential where tenant = $1 and name = $2

-- name: credential_of_campaign
-- The credential that a campaign sends with.
select c.id, c.tenant, c.name, c.kind, c.spec, c.key, c.sealed, c.blocked_until, c.block_reason,
       c.block_streak, c.created_at
  from postroad.campaign x join postroad.credential c on c.id = x.credential where x.id = $1

-- name: credentials_of_tenant
-- A tenant's credentials, by name.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from postroad.credential where tenant = $1 order by name

-- name: credential_delete
-- Delete a credential that no campaign names.
delete from postroad.credential c where tenant = $1 and name = $2
   and not exists (select from postroad.campaign where credential = c.id) returning id

-- name: credentials_not_under
-- Credentials of all tenants that are not sealed with a key.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from postroad.credential where key <> $1 and id > $2 order by id limit $3

-- name: credential_reseal
-- Seal a credential with another key, unless it has changed meanwhile.
update postroad.credential set key = $2, sealed = $3 where id = $1 and sealed = $4 returning id

-- name: queues_refused
-- Find the next disabled queues of a channel (`$2:`, `$2@SITE:`) and a credential, of one tenant or all ('').
select id from postroad.queue
 where block_kind = 'disabled' and id > $4 and ($1 = '' or tenant = $1)
   and (name = $2 || ':' || $3
        or (left(name, length($2) + 1) = $2 || '@' and right(name, length($3) + 1) = ':' || $3))
 order by id limit $5

-- name: credential_block
-- Send nothing with a credential before a time.
update postroad.credential set blocked_until = $2, block_reason = $3, block_streak = $4 where id = $1
