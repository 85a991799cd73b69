-- When one was begun, and how often.
select tries, intent_at from campaign_op where campaign_id = ?1 and n = ?2
