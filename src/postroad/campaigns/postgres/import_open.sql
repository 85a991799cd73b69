-- Begin an import of a draft's recipients with the columns of the others, unless one is under way.
insert into postroad.campaign_import (campaign_id, digest, columns, first_n, line, loaded, duplicates)
select id, $2, $3, last_n + 1, 0, 0, 0 from postroad.campaign
 where id = $1 and state = 'draft' and columns in ('[]', $3) for update
on conflict (campaign_id) do nothing
