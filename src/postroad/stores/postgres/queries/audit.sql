-- The audit log.

-- name: audit_insert
-- Insert a line; returns its number.
insert into postroad.audit (asked_at, ended_at, tenant, actor, name, address, verb, what, outcome, status, count)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id

-- name: audit_end
-- Complete a line.
update postroad.audit set ended_at = $2, outcome = $3, status = $4, count = $5, what = $6 where id = $1 returning 1

-- name: audit_page
-- Lines of all tenants, the newest first.
select id, asked_at, ended_at, tenant, actor, name, address, verb, what, outcome, status, count
  from postroad.audit
 where asked_at >= $2 and asked_at < $3 and ($4::text is null or actor = $4) and ($5::text is null or verb = $5)
   and (asked_at, id) < ($6, $7) and $1::text is null
 order by asked_at desc, id desc limit $8

-- name: audit_page_of_tenant
-- Lines of a tenant, the newest first.
select id, asked_at, ended_at, tenant, actor, name, address, verb, what, outcome, status, count
  from postroad.audit
 where tenant = $1 and asked_at >= $2 and asked_at < $3
   and ($4::text is null or actor = $4) and ($5::text is null or verb = $5) and (asked_at, id) < ($6, $7)
 order by asked_at desc, id desc limit $8

-- name: audit_retain
-- Delete lines older than a time.
delete from postroad.audit where id in (
  select id from postroad.audit where asked_at < $1 order by asked_at limit $2) returning 1

-- name: audit_crowded
-- Tenants with more lines than a number, and how many more.
select tenant, count(*) - $1::bigint from postroad.audit group by tenant having count(*) > $1

-- name: audit_trim
-- Delete the oldest lines of a tenant.
delete from postroad.audit where id in (
  select id from postroad.audit where tenant = $1 order by asked_at, id limit $2) returning 1
