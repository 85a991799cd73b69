-- The columns of a finished import are the campaign's.
update campaign set columns = (select columns from campaign_import where campaign_id = ?1) where id = ?1
