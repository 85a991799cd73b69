-- One is about to be sent.
update campaign_op set state = 'intent', tries = tries + 1, intent_at = ?4
 where campaign_id = ?1 and n = ?2 and job_id = ?3 and state = 'queued'
returning tries
