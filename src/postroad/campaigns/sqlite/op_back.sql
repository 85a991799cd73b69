-- One that was begun was not sent.
update campaign_op set state = 'queued' where campaign_id = ?1 and n = ?2 and tries = ?3 and state = 'intent'
