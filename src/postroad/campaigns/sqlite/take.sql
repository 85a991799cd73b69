-- The provider has taken it, whatever we thought.
update campaign_message set state = 'sent', provider_id = ?3, error_code = case when state = 'sent' then error_code else '' end,
       sub_type = case when state = 'sent' then sub_type else 'by callback' end,
       tries = max(tries, ?4), sent_at = case when sent_at = 0 then ?5 else sent_at end,
       answered_at = case when answered_at = 0 then ?6 else answered_at end
 where campaign_id = ?1 and n = ?2
