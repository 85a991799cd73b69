-- What a call gave.
update campaign_message set state = ?3, tries = ?4, provider_id = ?5, error_code = ?6, sub_type = ?7,
       sent_at = ?8, answered_at = ?9
 where campaign_id = ?1 and n = ?2
