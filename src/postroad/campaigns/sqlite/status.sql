-- How far the provider has come with it.
update campaign_message set status = ?3, status_at = ?4,
       error_code = case when ?5 <> '' then ?5 else error_code end
 where campaign_id = ?1 and n = ?2 and status in (select value from json_each(?6))
