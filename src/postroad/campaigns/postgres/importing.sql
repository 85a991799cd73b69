-- The import that is under way.
select campaign_id, digest, columns, line, loaded, duplicates
  from postroad.campaign_import where campaign_id = $1
