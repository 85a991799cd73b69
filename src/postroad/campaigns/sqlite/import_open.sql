-- Begin an import of a draft's recipients with the columns of the others.
insert into campaign_import (campaign_id, digest, columns, first_n, line, loaded, duplicates)
select id, ?2, ?3, last_n + 1, 0, 0, 0 from campaign
 where id = ?1 and state = 'draft' and columns in ('[]', ?3)
