-- Credentials that campaigns send with.

-- name: credential_put
-- Store a credential, or replace the one of the same name and lift its block.
insert into credential (tenant, name, kind, spec, key, sealed, created_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (tenant, name) do update set kind = excluded.kind, spec = excluded.spec,
  key = excluded.key, sealed = excluded.sealed, blocked_until = 0, block_reason = '', block_streak = 0

-- name: credential_find
-- Find a credential by tenant and name.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from credential where tenant = ?1 and name = ?2

-- name: credential_of_campaign
-- Find the credential that a campaign sends with.
select c.id, c.tenant, c.name, c.kind, c.spec, c.key, c.sealed, c.blocked_until, c.block_reason,
       c.block_streak, c.created_at
  from campaign x join credential c on c.id = x.credential where x.id = ?1

-- name: credentials_of_tenant
-- List a tenant's credentials by name.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from credential where tenant = ?1 order by name

-- name: credential_delete
-- Delete a credential that no campaign names.
delete from credential where tenant = ?1 and name = ?2
   and not exists (select 1 from campaign where credential = credential.id)

-- name: credentials_not_under
-- List credentials of all tenants that are not sealed with this key.
select id, tenant, name, kind, spec, key, sealed, blocked_until, block_reason, block_streak, created_at
  from credential where key <> ?1 and id > ?2 order by id limit ?3

-- name: credential_reseal
-- Seal a credential with another key, unless it has changed meanwhile.
update credential set key = ?2, sealed = ?3 where id = ?1 and sealed = ?4

-- name: credential_block
-- Block a credential until a time; 0 lifts the block.
update credential set blocked_until = ?2, block_reason = ?3, block_streak = ?4 where id = ?1

-- name: queues_refused
-- Find the next disabled queues of a channel (`?2:`, `?2@SITE:`) and a credential, of one tenant or all ('').
select id from queue
 where block_kind = 'disabled' and id > ?4 and (?1 = '' or tenant = ?1)
   and (name = ?2 || ':' || ?3
        or (substr(name, 1, length(?2) + 1) = ?2 || '@' and substr(name, -length(?3) - 1) = ':' || ?3))
 order by id limit ?5
