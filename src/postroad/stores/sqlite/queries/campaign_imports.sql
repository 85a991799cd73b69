-- Imports of recipients that are under way.

-- name: import_open
-- Begin an import into a draft whose earlier recipients, if any, have the same columns.
insert into campaign_import (campaign_id, digest, columns, first_n, line, loaded, duplicates)
select id, ?2, ?3, last_n + 1, 0, 0, 0 from campaign
 where id = ?1 and state = 'draft' and columns in ('[]', ?3)

-- name: import_find
-- Find the import of a campaign that is under way.
select campaign_id, digest, columns, line, loaded, duplicates from campaign_import where campaign_id = ?1

-- name: import_last_n
-- Read a draft's highest recipient number, if its import stands at this line of this file.
select c.last_n from campaign c join campaign_import i on i.campaign_id = c.id
 where c.id = ?1 and c.state = 'draft' and i.digest = ?2 and i.line = ?3

-- name: import_go
-- Note how far an import has come.
update campaign_import set line = ?2, loaded = loaded + ?3, duplicates = duplicates + ?4
 where campaign_id = ?1

-- name: import_count
-- Count the recipients that an import has added to its campaign.
update campaign set last_n = ?2, total = total + ?3 where id = ?1

-- name: import_columns
-- Give a campaign the columns of its finished import.
update campaign set columns = (select columns from campaign_import where campaign_id = ?1) where id = ?1

-- name: import_undo
-- Delete the recipients that an import has added.
delete from campaign_message where campaign_id = ?1
   and n >= (select first_n from campaign_import where campaign_id = ?1)

-- name: import_undo_count
-- Take the recipients of an import out of the campaign's counts.
update campaign set total = total - (select loaded from campaign_import where campaign_id = ?1),
       last_n = (select first_n - 1 from campaign_import where campaign_id = ?1)
 where id = ?1

-- name: import_end
-- Delete the note of an import that has ended.
delete from campaign_import where campaign_id = ?1
