-- How far an import has come.
update campaign_import set line = ?2, loaded = loaded + ?3, duplicates = duplicates + ?4
 where campaign_id = ?1
