-- What senders do with the jobs of campaigns.

-- name: job_claim
-- Own the oldest job that waits.
update postroad.job set state = 'ENQUEUED', owner = $1, epoch = epoch + 1, lease_until = postroad.now_ms() + $2
 where id = (select j.id from postroad.job j join postroad.campaign c on c.id = j.campaign_id
              where j.state = 'READY' and j.owner is null and c.state = 'running'
              order by j.id limit 1 for update of j skip locked)
returning id, campaign_id, epoch

-- name: jobs_renew
-- Renew the leases of an owner; returns the state of its jobs.
with renewed as (update postroad.job set lease_until = postroad.now_ms() + $2 where owner = $1 and id = any ($3)
                 returning id, campaign_id)
select j.id, x.state, c.blocked_until, c.block_reason
  from renewed j join postroad.campaign x on x.id = j.campaign_id
  join postroad.credential c on c.id = x.credential

-- name: ops_enqueue
-- Copy unsent recipients into the ops of a job.
select postroad.campaign_enqueue($1, $2, $3, $4)

-- name: ops_queued
-- Ops of a job that wait to be sent.
select o.n, o.tries, m.recipient, m.fields, o.due, o.deferred
  from postroad.campaign_op o join postroad.campaign_message m on m.campaign_id = o.campaign_id and m.n = o.n
 where o.job_id = $1 and o.n > $2 and o.state = 'queued' order by o.n limit $3

-- name: ops_intend
-- Note which are about to be sent, if the job is still its owner's and the campaign runs; not those who are on a
-- suppression list by now.
with mine as materialized (
  select j.id, x.tenant from postroad.job j join postroad.campaign x on x.id = j.campaign_id
   where j.id = $1 and j.owner = $2 and j.epoch = $3 and j.lease_until > postroad.now_ms()
     and j.state in ('ENQUEUED', 'SENDING') and x.state = 'running' for update of j),
asked as materialized (
  select mine.tenant, (select json_agg(m.recipient) from postroad.campaign_message m
                        where m.campaign_id = $4 and m.n = any ($5)) as recipients
    from mine where exists (select from postroad.suppression s where s.tenant in (mine.tenant, '*'))),
kept_back as materialized (
  select m.n, s.reason from asked a cross join lateral postroad.suppressed(a.tenant, a.recipients) s
    join postroad.campaign_message m on m.campaign_id = $4 and m.recipient = s.recipient),
begun as (
  update postroad.campaign_op o set state = 'intent', tries = o.tries + 1, intent_at = postroad.now_ms()
    from mine where o.campaign_id = $4 and o.n = any ($5) and o.job_id = mine.id and o.state = 'queued'
     and not exists (select from kept_back k where k.n = o.n)
  returning o.n, o.tries)
select n, tries, null as reason from begun union all select n, 0, reason from kept_back

-- name: ops_record
-- Record what calls gave.
select postroad.campaign_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: job_release
-- Give a job back.
select postroad.campaign_release($1, $2, $3, $4, $5)

-- name: jobs_reap
-- Free jobs whose owners were silent for too long.
select postroad.campaign_reap($1)
