-- Some are about to be sent, if the job is still its owner's and the campaign runs.
with mine as materialized (
  select j.id from postroad.job j join postroad.campaign x on x.id = j.campaign_id
   where j.id = $1 and j.owner = $2 and j.epoch = $3 and j.lease_until > postroad.now_ms()
     and j.state in ('ENQUEUED', 'SENDING') and x.state = 'running' for update of j)
update postroad.campaign_op o set state = 'intent', tries = o.tries + 1, intent_at = postroad.now_ms()
  from mine where o.campaign_id = $4 and o.n = any ($5) and o.job_id = mine.id and o.state = 'queued'
returning o.n, o.tries
