-- Contents that are stored once, and who uses them.

-- name: blob_put
-- Store a content, or note that it was put again.
insert into blob (tenant, blob, size, used_at, content) values (?1, ?2, ?3, ?4, ?5)
on conflict (tenant, blob, size) do update set used_at = max(used_at, excluded.used_at)

-- name: blob_get
-- Read a content.
select content from blob where tenant = ?1 and blob = ?2

-- name: blob_page
-- List a tenant's contents by name.
select blob, size, used_at from blob where tenant = ?1 and blob > ?2 order by blob limit ?3

-- name: blob_bytes
-- Add up what a tenant has stored.
select coalesce(sum(size), 0) from blob where tenant = ?1

-- name: blob_sizes
-- Read the sizes of contents by a JSON list of names.
select blob, size from blob where tenant = ?1 and blob in (select value from json_each(?2))

-- name: blob_touch
-- Note that contents are in use, by a JSON list of names.
update blob set used_at = max(used_at, ?3) where tenant = ?1 and blob in (select value from json_each(?2))

-- name: blob_use
-- Note who uses contents that are there, by a JSON list of pairs of a name and a holder.
insert into blob_use (tenant, blob, holder, made_at)
select ?1, value ->> 0, value ->> 1, ?3 from json_each(?2)
 where exists (select 1 from blob where tenant = ?1 and blob = value ->> 0)
on conflict (tenant, blob, holder) do update set made_at = excluded.made_at

-- name: blob_release
-- Forget what one holder used, but for a JSON list of names.
delete from blob_use where tenant = ?1 and holder = ?2 and blob not in (select value from json_each(?3))

-- name: blob_uses_forget
-- Forget uses of one content whose message or campaign is gone.
delete from blob_use
 where tenant = ?1 and blob = ?2 and made_at < ?3
   and not exists (select 1 from message where id = blob_use.holder)
   and not exists (select 1 from batch_held where id = blob_use.holder)
   and not exists (select 1 from dead where id = blob_use.holder)
   and not exists (select 1 from kept_body where id = blob_use.holder)
   and not exists (select 1 from campaign where id = -blob_use.holder)

-- name: blob_drop
-- Delete a content that nothing uses.
delete from blob where tenant = ?1 and blob = ?2
   and not exists (select 1 from blob_use where tenant = ?1 and blob = ?2)

-- name: blob_uses_slice
-- Find the last of the next uses.
select max(id) from (select id from blob_use where id > ?1 order by id limit ?2)

-- name: blob_uses_sweep
-- Forget uses of a slice whose message or campaign is gone.
delete from blob_use
 where id > ?1 and id <= ?2 and made_at < ?3
   and not exists (select 1 from message where id = blob_use.holder)
   and not exists (select 1 from batch_held where id = blob_use.holder)
   and not exists (select 1 from dead where id = blob_use.holder)
   and not exists (select 1 from kept_body where id = blob_use.holder)
   and not exists (select 1 from campaign where id = -blob_use.holder)

-- name: blobs_sweep
-- Delete a slice of contents that nothing uses, and nobody has put or used since a time.
delete from blob where id in (
  select id from blob as old
   where used_at < ?1
     and not exists (select 1 from blob_use as u where u.tenant = old.tenant and u.blob = old.blob)
   order by used_at limit ?2)

-- name: erase_blob_of
-- Delete contents that only these messages use (a JSON list of ids), unless they were put again since a time.
delete from blob where id in (
  select b.id from blob_use u join blob b on b.tenant = u.tenant and b.blob = u.blob
   where u.holder in (select value from json_each(?1)) and b.used_at <= ?2
     and not exists (select 1 from blob_use o where o.tenant = u.tenant and o.blob = u.blob
                        and o.holder not in (select value from json_each(?1))))

-- name: erase_blob_use_of
-- Forget what messages used, by a JSON list of ids.
delete from blob_use where holder in (select value from json_each(?1))

-- name: erase_blob
-- Delete some of a tenant's contents.
delete from blob where id in (select id from blob where tenant = ?1 limit ?2)

-- name: erase_blob_use
-- Forget some of what a tenant's messages and campaigns used.
delete from blob_use where id in (select id from blob_use where tenant = ?1 limit ?2)
