-- Jobs of senders, and the operations that are queued or begun for them.
-- `state <> 'LOGGED'` is said beside other states for the index of live jobs, which asks for it.

-- name: job_insert
-- Insert a new job of a campaign.
insert into job (campaign_id, created_at) values (?1, ?2)

-- name: job_count
-- Count the jobs of a campaign.
select count(*) from job where campaign_id = ?1

-- name: jobs_move
-- Change the state of those jobs of a campaign that are in one of these states.
update job set state = ?2 where campaign_id = ?1 and state in (select value from json_each(?3))

-- name: jobs_delete
-- Delete the jobs of a campaign.
delete from job where campaign_id = ?1

-- name: jobs_busy
-- Count the jobs of a campaign that a sender has, or may still take.
select count(*) from job
 where campaign_id = ?1 and (owner is not null or state in ('READY', 'ENQUEUED', 'SENDING'))

-- name: jobs_live
-- Tell whether senders or the finaliser have anything to do.
select exists (select 1 from job where state <> 'LOGGED')

-- name: job_claim
-- Own the oldest job that is ready, at a new epoch.
update job set state = 'ENQUEUED', owner = ?1, epoch = epoch + 1, lease_until = ?2
 where id = (select j.id from job j join campaign c on c.id = j.campaign_id
              where j.state <> 'LOGGED' and j.state = 'READY' and j.owner is null and c.state = 'running' order by j.id limit 1)
returning id, campaign_id, epoch

-- name: job_mine
-- Read how far a campaign is enqueued, if the job is still this owner's and the campaign runs.
select x.place from job j join campaign x on x.id = j.campaign_id
 where j.id = ?1 and j.owner = ?2 and j.epoch = ?3 and j.lease_until > ?4
   and j.state in ('ENQUEUED', 'SENDING') and x.state = 'running'

-- name: jobs_renew
-- Renew an owner's leases on these jobs.
update job set lease_until = ?2 where owner = ?1 and id in (select value from json_each(?3))

-- name: jobs_pulse
-- Read how an owner's jobs stand.
select j.id, x.state, c.blocked_until, c.block_reason
  from job j join campaign x on x.id = j.campaign_id join credential c on c.id = x.credential
 where j.owner = ?1 and j.id in (select value from json_each(?2))

-- name: job_sending
-- Note that a job has begun to send.
update job set state = 'SENDING' where id = ?1 and state = 'ENQUEUED'

-- name: job_release
-- Give a job back; it is SENT when none of its operations is left.
update job set owner = null,
       state = case when state in ('ENQUEUED', 'SENDING') then
                 case when exists (select 1 from campaign_op where job_id = job.id) then 'READY' else 'SENT' end
               else state end
 where id = ?1

-- name: job_owned
-- Tell whether a job is an owner's at this epoch, whether its lease lasts or not.
select 1 from job where id = ?1 and owner = ?2 and epoch = ?3

-- name: jobs_lost
-- Find jobs whose leases have run out, or (?2 > 0) whose owner is anybody else.
select id, campaign_id from job
 where state <> 'LOGGED' and owner is not null and (lease_until < ?1 or (?2 > 0 and owner <> ?2))

-- name: job_reap
-- Take a job away from its lost owner; one that was stopped stays stopped.
update job set owner = null, epoch = epoch + 1,
       state = case when state in ('ENQUEUED', 'SENDING') then 'READY' else state end
 where id = ?1

-- name: ops_enqueue
-- Copy a slice of unsent recipients into the operations of a job.
insert into campaign_op (campaign_id, n, job_id, tries)
select m.campaign_id, m.n, ?2, m.tries from campaign_message m
 where m.campaign_id = ?1 and m.n > ?3 and m.state = 'unsent'
   and not exists (select 1 from campaign_op o where o.campaign_id = m.campaign_id and o.n = m.n)
 order by m.n limit ?4
returning n

-- name: ops_queued
-- Read the queued operations of a job, with their recipients.
select o.n, o.tries, m.recipient, m.fields, o.due, o.deferred
  from campaign_op o join campaign_message m on m.campaign_id = o.campaign_id and m.n = o.n
 where o.job_id = ?1 and o.n > ?2 and o.state = 'queued' order by o.n limit ?3

-- name: campaign_suppresses
-- Read a campaign's tenant, if a suppression list holds for it.
select tenant from campaign
 where id = ?1 and (select 1 from suppression s where s.tenant in (campaign.tenant, '*') limit 1)

-- name: recipients_named
-- Read recipients by a JSON list of their numbers.
select n, recipient from campaign_message where campaign_id = ?1 and n in (select value from json_each(?2))

-- name: op_intend
-- Note, before the call, that a recipient is about to be sent to; answers the number of this try.
update campaign_op set state = 'intent', tries = tries + 1, intent_at = ?4
 where campaign_id = ?1 and n = ?2 and job_id = ?3 and state = 'queued'
returning tries

-- name: op_find
-- Read how often a recipient was tried, and when the last try began.
select tries, intent_at from campaign_op where campaign_id = ?1 and n = ?2

-- name: op_back
-- Queue an operation again whose try was not made, or had a temporary answer: not before a time.
update campaign_op set state = 'queued', due = max(due, ?4), deferred = deferred + (?4 > 0)
 where campaign_id = ?1 and n = ?2 and tries = ?3 and state = 'intent'

-- name: op_gone
-- Delete an operation that has ended, also if it was queued again since; with 0 whichever try it
-- was.
delete from campaign_op where campaign_id = ?1 and n = ?2 and (?3 = 0 or tries = ?3)

-- name: ops_begun
-- List what of a job is begun.
select n, tries, intent_at from campaign_op where job_id = ?1 and state = 'intent'

-- name: ops_tries_back
-- Copy the numbers of tries of a campaign's operations to its recipients.
update campaign_message set tries = (select o.tries from campaign_op o
         where o.campaign_id = campaign_message.campaign_id and o.n = campaign_message.n)
 where campaign_id = ?1 and n in (select n from campaign_op where campaign_id = ?1)

-- name: ops_clear
-- Delete the operations that a finished campaign has left.
delete from campaign_op where campaign_id = ?1
