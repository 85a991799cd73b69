-- Tenants that were created, and those that their use made.

-- name: tenant_insert
-- Store a tenant, unless one of that name was created.
insert into tenant (name, description, limits, made_at) values (?1, ?2, ?3, ?4) on conflict do nothing

-- name: tenant_limit
-- Set some limits of a tenant's own; null takes one away.
insert into tenant (name, description, limits, made_at) values (?1, '', json_patch('{}', ?2), ?3)
    on conflict (name) do update set limits = json_patch(limits, ?2)

-- name: tenants_own
-- Read the limits that are some tenants' own.
select name, limits from tenant where name in (select value from json_each(?1))

-- name: tenant_find
-- Read a tenant that was created, or that has something.
select ?1, t.description, t.limits, t.made_at from (select 1) left join tenant t on t.name = ?1
 where t.name is not null or exists (select 1 from queue where tenant = ?1)
    or exists (select 1 from token where tenant = ?1) or exists (select 1 from mailbox where tenant = ?1)
    or exists (select 1 from campaign where tenant = ?1) or exists (select 1 from credential where tenant = ?1)

-- name: tenant_page
-- List tenants by name, from name to name: each step asks each index for its next one.
with recursive found (name, n) as (
  select ?1, 0
  union all
  select (select min(next) from (
            select min(name) as next from tenant where name > found.name
            union all select min(tenant) from queue where tenant > found.name
            union all select min(tenant) from token where tenant > found.name and tenant <> '*'
            union all select min(tenant) from mailbox where tenant > found.name
            union all select min(tenant) from campaign where tenant > found.name
            union all select min(tenant) from credential where tenant > found.name)), n + 1
    from found where name is not null and n < ?2)
select found.name, t.description, t.limits, t.made_at from found left join tenant t on t.name = found.name
 where found.name > ?1 order by found.name
