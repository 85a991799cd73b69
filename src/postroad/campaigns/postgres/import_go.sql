-- How far an import has come.
with gone as (update postroad.campaign_import set line = $2, loaded = loaded + $3, duplicates = duplicates + $4
               where campaign_id = $1)
update postroad.campaign set last_n = last_n + $3, total = total + $3 where id = $1
