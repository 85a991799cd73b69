-- Tenants that were created, and those that their use made.

-- name: tenant_insert
-- Store a tenant, unless one of that name was created.
insert into postroad.tenant (name, description, limits, made_at) values ($1, $2, $3, $4) on conflict do nothing returning 1

-- name: tenant_limit
-- Set some limits of a tenant's own; null takes one away.
insert into postroad.tenant as t (name, description, limits, made_at)
values ($1, '', jsonb_strip_nulls($2::text::jsonb)::text, $3)
    on conflict (name) do update set limits = jsonb_strip_nulls(t.limits::jsonb || $2::text::jsonb)::text

-- name: tenants_own
-- Read the limits that are some tenants' own.
select name, limits from postroad.tenant where name in (select json_array_elements_text($1::text::json))

-- name: tenant_find
-- Read a tenant that was created, or that has something.
select $1::text, t.description, t.limits, t.made_at from (select 1) one left join postroad.tenant t on t.name = $1
 where t.name is not null or exists (select from postroad.queue where tenant = $1)
    or exists (select from postroad.token where tenant = $1) or exists (select from postroad.mailbox where tenant = $1)
    or exists (select from postroad.campaign where tenant = $1) or exists (select from postroad.credential where tenant = $1)

-- name: tenant_page
-- List tenants by name, from name to name: each step asks each index for its next one.
with recursive found (name, n) as (
  select $1::text, 0
  union all
  select (select min(x.next) from (
            select min(t.name) as next from postroad.tenant t where t.name > found.name
            union all select min(q.tenant) from postroad.queue q where q.tenant > found.name
            union all select min(k.tenant) from postroad.token k where k.tenant > found.name and k.tenant <> '*'
            union all select min(m.tenant) from postroad.mailbox m where m.tenant > found.name
            union all select min(c.tenant) from postroad.campaign c where c.tenant > found.name
            union all select min(d.tenant) from postroad.credential d where d.tenant > found.name) x), found.n + 1
    from found where found.name is not null and found.n < $2::bigint)
select found.name, t.description, t.limits, t.made_at from found left join postroad.tenant t on t.name = found.name
 where found.name > $1 order by found.name
