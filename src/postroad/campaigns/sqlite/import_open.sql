-- Begin an import.
insert into campaign_import (campaign_id, digest, columns, first_n, line, loaded, duplicates)
select id, ?2, ?3, last_n + 1, 0, 0, 0 from campaign where id = ?1 and state = 'draft'
