-- How recipients get into a campaign.

-- name: import_open
-- Begin an import into a draft with the columns of the other recipients, unless one is under way.
insert into postroad.campaign_import (campaign_id, digest, columns, first_n, line, loaded, duplicates)
select id, $2, $3, last_n + 1, 0, 0, 0 from postroad.campaign
 where id = $1 and state = 'draft' and columns in ('[]', $3) for update
on conflict (campaign_id) do nothing

-- name: import_find
-- The import that is under way.
select campaign_id, digest, columns, line, loaded, duplicates
  from postroad.campaign_import where campaign_id = $1

-- name: import_last_n
-- The highest number of a draft's recipients, while its import stands at that line. Nobody else loads meanwhile, and
-- the commit waits for no disk.
select c.last_n, set_config('synchronous_commit', 'off', true)
  from postroad.campaign c join postroad.campaign_import i on i.campaign_id = c.id
 where c.id = $1 and c.state = 'draft' and i.digest = $2 and i.line = $3 for update

-- name: import_load
-- Keep rows that COPY refused.
select postroad.campaign_load($1, $2, $3, $4, $5)

-- name: import_go
-- Note how far an import has come.
with gone as (update postroad.campaign_import set line = $2, loaded = loaded + $3, duplicates = duplicates + $4
               where campaign_id = $1)
update postroad.campaign set last_n = last_n + $3, total = total + $3 where id = $1

-- name: import_end
-- End an import; its columns are the campaign's.
with over as (delete from postroad.campaign_import where campaign_id = $1 returning columns)
update postroad.campaign set columns = over.columns from over where id = $1 returning id

-- name: import_undo
-- Delete all that an import has brought.
with over as (delete from postroad.campaign_import where campaign_id = $1 returning first_n, loaded),
rows as (delete from postroad.campaign_message using over where campaign_id = $1 and n >= over.first_n)
update postroad.campaign set total = total - over.loaded, last_n = over.first_n - 1 from over where id = $1
returning id
