-- One that was begun is over.
delete from campaign_op where campaign_id = ?1 and n = ?2 and (?3 = 0 or tries = ?3) and (?3 = 0 or state = 'intent')
