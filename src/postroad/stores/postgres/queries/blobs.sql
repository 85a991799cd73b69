-- Contents that are stored once, and who uses them.

-- name: blob_put
-- Store a content, or note that it was put again.
insert into postroad.blob as b (tenant, blob, size, used_at, content) values ($1, $2, $3, $4, $5)
on conflict (tenant, blob, size) do update set used_at = greatest(b.used_at, excluded.used_at) returning 1

-- name: blob_get
-- Read a content.
select content from postroad.blob where tenant = $1 and blob = $2

-- name: blob_page
-- List a tenant's contents by name.
select blob, size, used_at from postroad.blob where tenant = $1 and blob > $2 order by blob limit $3

-- name: blob_bytes
-- Add up what a tenant has stored.
select coalesce(sum(size), 0)::bigint from postroad.blob where tenant = $1

-- name: blob_sizes
-- Read the sizes of contents by a JSON list of names.
select blob, size from postroad.blob where tenant = $1 and blob in (select json_array_elements_text($2::json))

-- name: blob_touch
-- Note that contents are in use, by a JSON list of names, in their order so that two of them never wait for each other.
update postroad.blob b set used_at = greatest(b.used_at, $3)
  from (select id from postroad.blob where tenant = $1 and blob in (select json_array_elements_text($2::json))
         order by blob for update) x
 where b.id = x.id returning 1

-- name: blob_use
-- Note who uses contents that are there, by a JSON list of pairs of a name and a holder. Nobody deletes them meanwhile.
with held as (
  select blob from postroad.blob where tenant = $1 and blob in (select value ->> 0 from json_array_elements($2::json))
   order by blob for update)
insert into postroad.blob_use (tenant, blob, holder, made_at)
select $1, value ->> 0, (value ->> 1)::bigint, $3 from json_array_elements($2::json) where value ->> 0 in (select blob from held)
on conflict (tenant, blob, holder) do update set made_at = excluded.made_at returning 1

-- name: blob_release
-- Forget what one holder used, but for a JSON list of names.
delete from postroad.blob_use
 where tenant = $1 and holder = $2 and blob not in (select json_array_elements_text($3::json)) returning 1

-- name: blob_uses_forget
-- Forget uses of one content whose message or campaign is gone.
delete from postroad.blob_use u
 where u.tenant = $1 and u.blob = $2 and u.made_at < $3
   and not exists (select from postroad.message where id = u.holder)
   and not exists (select from postroad.arrival where id = u.holder)
   and not exists (select from postroad.batch_held where id = u.holder)
   and not exists (select from postroad.dead where id = u.holder)
   and not exists (select from postroad.kept_body where id = u.holder)
   and not exists (select from postroad.campaign where id = -u.holder)
returning 1

-- name: blob_drop
-- Delete a content that nothing uses.
select from postroad.drop_blob($1, $2) d(gone) where d.gone > 0

-- name: blob_uses_slice
-- Find the last of the next uses.
select max(id) from (select id from postroad.blob_use where id > $1 order by id limit $2) x

-- name: blob_uses_sweep
-- Forget uses of a slice whose message or campaign is gone.
delete from postroad.blob_use u
 where u.id > $1 and u.id <= $2 and u.made_at < $3
   and not exists (select from postroad.message where id = u.holder)
   and not exists (select from postroad.arrival where id = u.holder)
   and not exists (select from postroad.batch_held where id = u.holder)
   and not exists (select from postroad.dead where id = u.holder)
   and not exists (select from postroad.kept_body where id = u.holder)
   and not exists (select from postroad.campaign where id = -u.holder)
returning 1

-- name: blobs_sweep
-- Delete a slice of contents that nothing uses, and nobody has put or used since a time. The time is asked for twice:
-- whoever touches one meanwhile is waited for, and only the outer condition is looked at again.
delete from postroad.blob b
 where b.used_at < $1 and b.id in (
  select old.id from postroad.blob old
   where old.used_at < $1
     and not exists (select from postroad.blob_use u where u.tenant = old.tenant and u.blob = old.blob)
   order by old.used_at limit $2)
returning 1

-- name: erase_blob_of
-- Delete contents that only these messages use (a JSON list of ids), unless they were put again since a time.
delete from postroad.blob x
 where x.used_at <= $2 and x.id in (
  select b.id from postroad.blob_use u join postroad.blob b on b.tenant = u.tenant and b.blob = u.blob
   where u.holder in (select value::bigint from json_array_elements_text($1::json))
     and not exists (select from postroad.blob_use o where o.tenant = u.tenant and o.blob = u.blob
                        and o.holder not in (select value::bigint from json_array_elements_text($1::json))))

-- name: erase_blob_use_of
-- Forget what messages used, by a JSON list of ids.
delete from postroad.blob_use where holder in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_blob
-- Delete some of a tenant's contents.
delete from postroad.blob where id in (select id from postroad.blob where tenant = $1 limit $2)

-- name: erase_blob_use
-- Forget some of what a tenant's messages and campaigns used.
delete from postroad.blob_use where id in (select id from postroad.blob_use where tenant = $1 limit $2)
