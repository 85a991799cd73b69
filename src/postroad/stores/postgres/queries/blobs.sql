-- Contents that are stored once, and their uses.

-- name: blob_put
-- Store a content, or note that it is in use again.
insert into postroad.blob (tenant, blob, size, content, used_at) values ($1, $2, $3, $4, $5)
on conflict (tenant, blob) do update set used_at = greatest(blob.used_at, excluded.used_at)
returning 1

-- name: blob_get
-- Read a content.
select content from postroad.blob where tenant = $1 and blob = $2

-- name: blob_bytes
-- Add up what a tenant has stored.
select coalesce(sum(size), 0) from postroad.blob where tenant = $1

-- name: blob_touch
-- Note that a content is in use.
update postroad.blob set used_at = greatest(used_at, $3) where tenant = $1 and blob = $2
returning 1

-- name: blob_use
-- Note who uses a content.
insert into postroad.blob_use (tenant, blob, holder, made_at) values ($1, $2, $3, $4)
on conflict (tenant, blob, holder) do update set made_at = excluded.made_at
returning 1

-- name: blob_uses_slice
-- Find the last of the next uses.
select max(id) from (select id from postroad.blob_use where id > $1 order by id limit $2) as next

-- name: blob_uses_sweep
-- Forget uses of a slice whose message or campaign is gone.
delete from postroad.blob_use
 where id > $1 and id <= $2 and made_at < $3
   and not exists (select 1 from postroad.message where id = blob_use.holder)
   and not exists (select 1 from postroad.dead where id = blob_use.holder)
   and not exists (select 1 from postroad.kept_body where id = blob_use.holder)
   and not exists (select 1 from postroad.arrival where id = blob_use.holder)
   and not exists (select 1 from postroad.campaign where id = -blob_use.holder)
returning 1

-- name: blob_sweep
-- Delete contents that nothing uses.
delete from postroad.blob where id in (
  select id from postroad.blob as old
   where used_at < $1
     and not exists (select 1 from postroad.blob_use as used
                      where used.tenant = old.tenant and used.blob = old.blob)
   order by used_at limit $2)
returning 1
