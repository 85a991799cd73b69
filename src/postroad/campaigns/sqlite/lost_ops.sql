-- What a lost owner had begun.
select n, tries, intent_at from campaign_op where job_id = ?1 and state = 'intent'
