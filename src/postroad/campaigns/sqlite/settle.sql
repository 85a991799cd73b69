-- An uncertain recipient is settled.
update campaign_message set state = ?3, sub_type = ?4, answered_at = ?5
 where campaign_id = ?1 and n = ?2 and state = 'uncertain'
