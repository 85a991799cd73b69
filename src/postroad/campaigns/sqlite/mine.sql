-- Whether a job is an owner's and its campaign runs.
select x.place from job j join campaign x on x.id = j.campaign_id
 where j.id = ?1 and j.owner = ?2 and j.epoch = ?3 and j.lease_until > ?4
   and j.state in ('ENQUEUED', 'SENDING') and x.state = 'running'
