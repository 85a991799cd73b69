-- An import is over, and its columns are the campaign's.
with over as (delete from postroad.campaign_import where campaign_id = $1 returning columns)
update postroad.campaign set columns = over.columns from over where id = $1 returning id
