-- No import is under way.
delete from campaign_import where campaign_id = ?1
