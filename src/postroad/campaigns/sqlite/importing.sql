-- The import that is under way.
select campaign_id, digest, columns, line, loaded, duplicates from campaign_import where campaign_id = ?1
