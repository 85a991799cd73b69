-- Erasing what is stored about a tenant, or about one recipient of it.

-- name: erasure_insert
-- Insert a job; answers its number.
insert into erasure (tenant, recipient, digest, asked_at, step, step_at)
values (?1, ?2, ?3, ?4, ?5, ?4) returning id

-- name: erasure_page
-- List jobs of a tenant or of all, the newest first; all, or one by its number.
select id, tenant, digest, asked_at, ended_at, step, waits_for, erased, kept_queues from erasure
 where (?1 is null or tenant = ?1) and (?2 = 0 or id = ?2) and id < ?3 order by id desc limit ?4

-- name: erasures_waiting
-- Find the oldest jobs that are not done.
select id, tenant, recipient, asked_at, step, step_at, after, erased, kept_queues from erasure
 where ended_at = 0 order by id limit 100

-- name: erasure_lock
-- Read a job that is not done.
select id, tenant, recipient, asked_at, step, step_at, after, erased, kept_queues from erasure
 where id = ?1 and ended_at = 0

-- name: erasure_waits
-- Note how many tries a job waits for.
update erasure set waits_for = ?2 where id = ?1 and waits_for <> ?2

-- name: erasure_cancelled
-- Begin the next step when no message from before the job is left.
update erasure set step = ?2, step_at = ?3, waits_for = 0
 where id = ?1 and step = 'messages'
   and not exists (select 1 from queue q join rung r on r.queue_id = q.id join message m on m.rung_id = r.id
                    where q.tenant = erasure.tenant and (erasure.recipient = '' or q.name = erasure.recipient)
                      and m.accepted_at <= erasure.asked_at)
   and not exists (select 1 from message_recipient r join message m on m.id = r.message_id join queue q on q.id = r.queue_id
                    where r.recipient = erasure.recipient and q.tenant = erasure.tenant
                      and m.accepted_at <= erasure.asked_at)

-- name: erasure_note
-- Note how far a job is.
update erasure
   set step = ?2, step_at = ?3, after = ?4, erased = ?5, waits_for = ?6, kept_queues = ?7,
       recipient = ?8, ended_at = ?9
 where id = ?1

-- name: erasure_retain
-- Delete jobs that ended before a time.
delete from erasure where ended_at > 0 and ended_at < ?1

-- name: erase_tokens
-- Delete a tenant's tokens.
delete from token where tenant = ?1

-- name: erase_stop_campaigns
-- Cancel a tenant's campaigns.
update campaign set state = 'cancelled', ended_at = ?2 where tenant = ?1 and state not in ('done', 'cancelled')

-- name: erase_stop_jobs
-- Stop the jobs of a tenant's campaigns.
update job set state = 'STOPPED'
 where state in ('READY', 'ENQUEUED', 'SENDING', 'SENT')
   and campaign_id in (select id from campaign where tenant = ?1)

-- name: erase_history_find
-- Walk over finished messages; answers those that are meant, and how far this went.
with next as materialized (
  select id, queue_id from history where id > ?3 and id < ?5 order by id limit ?4)
select n.id, n.id from next n join queue q on q.id = n.queue_id where q.tenant = ?1 and (?2 = '' or q.name = ?2)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_dead_find
-- Walk over dead messages; answers those that are meant, and how far this went.
with next as materialized (select id, queue_id from dead where id > ?3 and id < ?5 order by id limit ?4)
select n.id, n.id from next n join queue q on q.id = n.queue_id where q.tenant = ?1 and (?2 = '' or q.name = ?2)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_attempt
-- Delete the tries of messages by a JSON list of ids.
delete from attempt where message_id in (select value from json_each(?1))

-- name: erase_webhook_try
-- Delete the log of tries of messages.
delete from webhook_try where message_id in (select value from json_each(?1))

-- name: erase_message_recipient
-- Delete the recipients that messages name.
delete from message_recipient where message_id in (select value from json_each(?1))

-- name: erase_named_find
-- Find messages that name a recipient.
select r.message_id, r.message_id from message_recipient r join queue q on q.id = r.queue_id
 where r.recipient = ?2 and q.tenant = ?1 and r.message_id > ?3 and r.message_id < ?5 order by r.message_id limit ?4

-- name: erase_named_keys
-- Delete the idempotency keys of messages.
delete from idempotency where message_id in (select value from json_each(?1))

-- name: erase_named_bodies
-- Delete the bodies of delivered messages.
delete from kept_body where id in (select value from json_each(?1))

-- name: erase_named_outputs
-- Delete what jobs gave.
delete from job_output where id in (select value from json_each(?1))

-- name: erase_history
-- Delete finished messages.
delete from history where id in (select value from json_each(?1)) returning id, queue_id

-- name: erase_dead
-- Delete dead messages.
delete from dead where id in (select value from json_each(?1)) returning id, queue_id

-- name: erase_idempotency
-- Delete idempotency keys.
delete from idempotency
 where (queue_id, key) in (
   select i.queue_id, i.key from queue q join idempotency i on i.queue_id = q.id
    where q.tenant = ?1 and (?2 = '' or q.name = ?2) and i.message_id < ?3 limit ?4)

-- name: erase_kept_body
-- Delete the bodies of delivered messages.
delete from kept_body
 where id in (
   select b.id from queue q join kept_body b on b.queue_id = q.id
    where q.tenant = ?1 and (?2 = '' or q.name = ?2) and b.id < ?3 limit ?4)

-- name: erase_job_output
-- Delete what jobs gave.
delete from job_output
 where (id, kind) in (
   select b.id, b.kind from queue q join job_output b on b.queue_id = q.id
    where q.tenant = ?1 and (?2 = '' or q.name = ?2) and b.id < ?3 limit ?4)

-- name: erase_broker_message
-- Delete what is recorded about messages of a broker.
delete from broker_message where id in (select value from json_each(?1))

-- name: erase_jobs_find
-- Count the jobs of a tenant's campaigns that a live sender works at.
select count(*) from job j join campaign c on c.id = j.campaign_id
 where c.tenant = ?1 and j.owner is not null and j.lease_until > ?2

-- name: erase_job
-- Delete the jobs of a tenant's campaigns.
delete from job where campaign_id in (select id from campaign where tenant = ?1)

-- name: erase_campaign_op
-- Delete operations of a tenant's campaigns.
delete from campaign_op
 where (campaign_id, n) in (select o.campaign_id, o.n from campaign c join campaign_op o on o.campaign_id = c.id
                             where c.tenant = ?1 limit ?2)

-- name: erase_campaign_message
-- Delete recipients of a tenant's campaigns.
delete from campaign_message
 where (campaign_id, n) in (
   select m.campaign_id, m.n from campaign c join campaign_message m on m.campaign_id = c.id
    where c.tenant = ?1 limit ?2)

-- name: erase_campaign_import
-- Delete the imports into a tenant's campaigns.
delete from campaign_import where campaign_id in (select id from campaign where tenant = ?1)

-- name: erase_campaign
-- Delete a tenant's campaigns.
delete from campaign where tenant = ?1

-- name: erase_credential
-- Delete a tenant's credentials.
delete from credential where tenant = ?1

-- name: erase_recipient_find
-- Find the next campaign with a recipient, and whether a call to it is under way.
select c.id, m.n, exists (select 1 from campaign_op o join job j on j.id = o.job_id
                           where o.campaign_id = c.id and o.n = m.n and o.state = 'intent'
                             and j.owner is not null and j.lease_until > ?4)
  from campaign c join campaign_message m on m.campaign_id = c.id and m.recipient = ?2
 where +c.tenant = ?1 and c.id > ?3 order by c.id limit 1

-- name: erase_recipient_count
-- Take a recipient without an operation out of the counts of its campaign.
update campaign
   set total = total - 1, sent = sent - (m.state = 'sent'), failed = failed - (m.state = 'failed'),
       uncertain = uncertain - (m.state = 'uncertain'),
       suppressed = suppressed - (m.state = 'suppressed'), temporary = campaign.temporary - m.temporary,
       undelivered = undelivered - (m.status in ('bounced', 'undelivered', 'failed', 'canceled'))
  from campaign_message m
 where campaign.id = ?1 and m.campaign_id = ?1 and m.n = ?2
   and not exists (select 1 from campaign_op o where o.campaign_id = ?1 and o.n = ?2)

-- name: erase_recipient_op
-- Delete the operation of a recipient, unless a call is under way.
delete from campaign_op as o
 where o.campaign_id = ?1 and o.n = ?2
   and not (o.state = 'intent' and exists (select 1 from job j
                                            where j.id = o.job_id and j.owner is not null and j.lease_until > ?3))

-- name: erase_recipient
-- Delete a recipient of a campaign that has no operation.
delete from campaign_message
 where campaign_id = ?1 and n = ?2
   and not exists (select 1 from campaign_op o where o.campaign_id = ?1 and o.n = ?2)

-- name: erase_suppression
-- Delete a slice of a tenant's suppression list.
delete from suppression where id in (select id from suppression where tenant = ?1 order by id limit ?2)

-- name: erase_suppression_digest
-- Keep a digest of a recipient for each reason, without anything else.
insert into suppression (tenant, address, recipient, reason, at, campaign, message, note)
select tenant, ?3, ?3, reason, at, '', '', '' from suppression where address = ?2 and tenant = ?1
on conflict do nothing

-- name: erase_suppression_of
-- Delete a recipient from a suppression list.
delete from suppression where address = ?2 and tenant = ?1

-- name: erase_mail_report
-- Delete a slice of what was reported to a tenant.
delete from mail_report where id in (select id from mail_report where tenant = ?1 order by id limit ?2)

-- name: erase_mail_report_one
-- Delete a slice of what was reported to a tenant about one recipient.
delete from mail_report where id in (select id from mail_report where address = ?2 and tenant = ?1 limit ?3)

-- name: erase_letter
-- Delete letters in mailboxes.
delete from letter
 where (mailbox, position) in (
   select l.mailbox, l.position from mailbox b join letter l on l.mailbox = b.number
    where b.tenant = ?1 and (?2 = '' or b.name = ?2) limit ?3)

-- name: erase_mailbox
-- Delete mailboxes.
delete from mailbox where tenant = ?1 and (?2 = '' or name = ?2)

-- name: erase_queue_find
-- Walk over queues; answers those that hold nothing and whose lanes nobody owns, and how far this went.
with next as materialized (
  select id, tenant, name, transport from queue where id > ?3 order by id limit ?4)
select q.id, q.id from next q
 where q.tenant = ?1 and (?2 = '' or q.name = ?2) and not (q.transport = 'handler' and q.tenant = ?5)
   and not exists (select 1 from rung r join message m on m.rung_id = r.id where r.queue_id = q.id)
   and not exists (select 1 from dead d where d.queue_id = q.id)
   and not exists (select 1 from queue_lane ql join lane l on l.id = ql.lane_id
                    where ql.queue_id = q.id and l.owner is not null)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_queues_left_find
-- Count the queues that are left.
select count(*) from queue q where q.tenant = ?1 and (?2 = '' or q.name = ?2) and not (q.transport = 'handler' and q.tenant = ?3)

-- name: erase_pace_count
-- Delete what limits of a tenant's lanes have used.
delete from pace_count where ledger in (select id from pace where queue_id = 0 and tenant = ?1)

-- name: erase_pace_share
-- Delete who reserves on limits of a tenant's lanes.
delete from pace_share where ledger in (select id from pace where queue_id = 0 and tenant = ?1)

-- name: erase_pace
-- Delete limits of a tenant's lanes.
delete from pace where queue_id = 0 and tenant = ?1

-- name: erase_audit_find
-- Walk over lines of the audit log; answers those of a tenant that name the recipient, and how far this went.
with next as materialized (select id, tenant, verb, what from audit where id > ?3 order by id limit ?4)
select n.id, n.id from next n
 where n.tenant = ?1 and (?2 = '' or instr(lower(n.what), lower(?2)) > 0) and n.verb not like 'privacy%' and n.what <> '{}'
union all
select null, max(id) from next having max(id) is not null

-- name: erase_audit
-- Take out of lines of the audit log what they name.
update audit set what = '{}' where id in (select value from json_each(?1))

-- name: erase_broker_find
-- Walk over what is recorded about messages of a broker; answers finished ones that are meant, and how far this went.
with next as materialized (
  select id, queue_id, done from broker_message where id > ?3 and id < ?5 order by id limit ?4)
select n.id, n.id from next n join queue q on q.id = n.queue_id where n.done = 1 and q.tenant = ?1 and (?2 = '' or q.name = ?2)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_endpoint_hours
-- Delete the hours of a tenant's endpoints, or of the one whose queue has this name.
delete from endpoint_hour where endpoint_id in (
  select id from endpoint
   where tenant = ?1 and (?2 = '' or queue_id in (select id from queue where tenant = ?1 and name = ?2)))

-- name: erase_endpoint_rules
-- Delete what is set for the endpoints of a tenant.
delete from endpoint_rules where tenant = ?1

-- name: erase_endpoint
-- Delete a tenant's endpoints, or the one whose queue has this name.
delete from endpoint
 where tenant = ?1 and (?2 = '' or queue_id in (select id from queue where tenant = ?1 and name = ?2))

-- name: erase_event_key
-- Delete keys of a tenant's publishes.
delete from event_key
 where (tenant, key) in (select tenant, key from event_key where tenant = ?1 and event_id < ?2 limit ?3)

-- name: erase_event_message
-- Delete what says which messages replays made of a tenant's events.
delete from event_message
 where (event_id, message_id) in (select x.event_id, x.message_id from event e join event_message x on x.event_id = e.id
                                   where e.tenant = ?1 and e.id < ?2 limit ?3)

-- name: erase_tick
-- Delete what became of ticks of a tenant's timetables; not of those that programs declare.
delete from tick where (tenant, schedule, at) in (
  select tenant, schedule, at from tick
   where tenant = ?1 and message_id < ?2
     and schedule not in (select name from schedule where tenant = ?1 and origin = 'code') limit ?3)

-- name: erase_schedule
-- Delete a tenant's timetables that were made at run time, or those that send to one queue.
delete from schedule where tenant = ?1 and origin = 'made' and (?2 = '' or queue = ?2)

-- name: erase_replay
-- Delete a tenant's replays, or those of one queue.
delete from replay where tenant = ?1 and (?2 = '' or queue = ?2)

-- name: erase_event
-- Delete a tenant's events.
delete from event where id in (select id from event where tenant = ?1 and id < ?2 limit ?3)

-- name: erase_batch_held
-- Delete what follows a tenant's batches: nothing of it is sent any more.
delete from batch_held where ?2 = '' and queue_id in (select id from queue where tenant = ?1)

-- name: erase_batch_named
-- Empty what follows batches and is for one recipient, so that it expires and is never tried.
update batch_held set headers = x'', body = cast('null' as blob), order_key = '', due = 4611686018427387903, expires_at = 1
 where id in (select h.id from batch_held h join queue q on q.id = h.queue_id
               where q.tenant = ?1 and ?2 <> '' and (q.name = ?2 or case when instr(h.headers, '"postroad-to":') > 0 then json_extract(cast(h.headers as text), '$."postroad-to"') = ?2 end))

-- name: erase_batch_member
-- Delete who is a member of a tenant's batches.
delete from batch_member
 where message_id in (select m.message_id from batch_member m join batch b on b.id = m.batch_id
                       where b.tenant = ?1 and b.id < ?2 limit ?3)

-- name: erase_batch_count
-- Delete the counts of a tenant's batches.
delete from batch_count
 where batch_id in (select c.batch_id from batch_count c join batch b on b.id = c.batch_id
                     where b.tenant = ?1 and b.id < ?2 limit ?3)

-- name: erase_batch
-- Delete a tenant's batches.
delete from batch where id in (select id from batch where tenant = ?1 and id < ?2 limit ?3)

-- name: erase_tenant
-- Delete what is set for a tenant itself.
delete from tenant where name = ?1
