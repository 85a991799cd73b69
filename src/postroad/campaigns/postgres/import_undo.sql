-- Nothing of an import stays.
with over as (delete from postroad.campaign_import where campaign_id = $1 returning first_n, loaded),
rows as (delete from postroad.campaign_message using over where campaign_id = $1 and n >= over.first_n)
update postroad.campaign set total = total - over.loaded, last_n = over.first_n - 1 from over where id = $1
returning id
