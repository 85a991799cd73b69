-- Erasing what is stored about a tenant, or about one recipient of it.

-- name: erasure_insert
-- Insert a job; returns its number.
insert into postroad.erasure (tenant, recipient, digest, asked_at, step, step_at)
values ($1, $2, $3, $4, $5, $4) returning id

-- name: erasure_page
-- List jobs of a tenant or of all, the newest first; all, or one by its number.
select id, tenant, digest, asked_at, ended_at, step, waits_for, erased, kept_queues from postroad.erasure
 where ($1::text is null or tenant = $1) and ($2::bigint = 0 or id = $2) and id < $3 order by id desc limit $4

-- name: erasures_waiting
-- Find the oldest jobs that are not done.
select id, tenant, recipient, asked_at, step, step_at, after, erased, kept_queues from postroad.erasure
 where ended_at = 0 order by id limit 100

-- name: erasure_lock
-- Lock a job that is not done, unless somebody works at it.
select id, tenant, recipient, asked_at, step, step_at, after, erased, kept_queues from postroad.erasure
 where id = $1 and ended_at = 0 for update skip locked

-- name: erasure_waits
-- Note how many tries a job waits for.
update postroad.erasure set waits_for = $2 where id = $1 and waits_for <> $2 returning 1

-- name: erasure_cancelled
-- Begin the next step when no message from before the job is left.
update postroad.erasure e set step = $2, step_at = $3, waits_for = 0
 where e.id = $1 and e.step = 'messages'
   and not exists (select from postroad.queue q join postroad.rung r on r.queue_id = q.id
                     join postroad.message m on m.rung_id = r.id
                    where q.tenant = e.tenant and (e.recipient = '' or q.name = e.recipient)
                      and m.accepted_at <= e.asked_at)
   and not exists (select from postroad.queue q join postroad.arrival a on a.queue_id = q.id
                    where q.tenant = e.tenant and (e.recipient = '' or q.name = e.recipient)
                      and a.accepted_at <= e.asked_at)
   and not exists (select from postroad.message_recipient r join postroad.message m on m.id = r.message_id
                     join postroad.queue q on q.id = r.queue_id
                    where r.recipient = e.recipient and q.tenant = e.tenant and m.accepted_at <= e.asked_at)
   and not exists (select from postroad.arrival a join postroad.queue q on q.id = a.queue_id
                    where q.tenant = e.tenant and a.accepted_at <= e.asked_at and e.recipient <> ''
                      and position('"postroad-to":'::bytea in a.headers) > 0
                      and convert_from(a.headers, 'UTF8')::json ->> 'postroad-to' = e.recipient)
   and not exists (select from postroad.event_arrival a
                    where a.tenant = e.tenant and a.made_at <= e.asked_at and e.recipient = '')
returning 1

-- name: erasure_note
-- Note how far a job is.
update postroad.erasure
   set step = $2, step_at = $3, after = $4, erased = $5, waits_for = $6, kept_queues = $7,
       recipient = $8, ended_at = $9
 where id = $1

-- name: erasure_retain
-- Delete jobs that ended before a time.
delete from postroad.erasure where ended_at > 0 and ended_at < $1 returning 1

-- name: erase_tokens
-- Delete a tenant's tokens.
delete from postroad.token where tenant = $1

-- name: erase_stop_campaigns
-- Cancel a tenant's campaigns.
update postroad.campaign set state = 'cancelled', ended_at = $2 where tenant = $1 and state not in ('done', 'cancelled')

-- name: erase_stop_jobs
-- Stop the jobs of a tenant's campaigns.
update postroad.job set state = 'STOPPED'
 where state in ('READY', 'ENQUEUED', 'SENDING', 'SENT')
   and campaign_id in (select id from postroad.campaign where tenant = $1)

-- name: erase_history_find
-- Walk over history row by row; returns the messages that are meant, and how far this went. Fewer rows than
-- elsewhere: one may be hundreds of messages.
with next as materialized (
  select p.id, p.queue_id, p.ids, p.queues from postroad.history_batch p
   where p.id > $3 and p.id < $5 order by p.id limit greatest(1, $4 / 20)),
each as (
  select coalesce((n.id >> 28 << 28) + x.id, n.id) as id, n.id as place, coalesce(x.queue, n.queue_id) as queue_id
    from next n left join lateral unnest(n.ids, n.queues) x(id, queue) on true)
select e.id, e.place from each e join postroad.queue q on q.id = e.queue_id
 where q.tenant = $1 and ($2::text = '' or q.name = $2)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_dead_find
-- Walk over dead messages; answers those that are meant, and how far this went.
with next as materialized (select id, queue_id from postroad.dead where id > $3 and id < $5 order by id limit $4)
select n.id, n.id from next n join postroad.queue q on q.id = n.queue_id where q.tenant = $1 and ($2::text = '' or q.name = $2)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_attempt
-- Delete the tries of messages by a JSON list of ids.
delete from postroad.attempt where message_id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_webhook_try
-- Delete the log of tries of messages.
delete from postroad.webhook_try where message_id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_message_recipient
-- Delete the recipients that messages name.
delete from postroad.message_recipient where message_id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_named_find
-- Find messages that name a recipient.
select r.message_id, r.message_id from postroad.message_recipient r join postroad.queue q on q.id = r.queue_id
 where r.recipient = $2 and q.tenant = $1 and r.message_id > $3 and r.message_id < $5 order by r.message_id limit $4

-- name: erase_named_keys
-- Delete the idempotency keys of messages.
delete from postroad.idempotency where message_id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_named_bodies
-- Delete the bodies of delivered messages.
delete from postroad.kept_body where id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_named_outputs
-- Delete what jobs gave.
delete from postroad.job_output where id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_history
-- Delete finished messages, also out of batches; returns how many.
select postroad.erase_history(array(select value::bigint from json_array_elements_text($1::json)))

-- name: erase_dead
-- Delete dead messages.
delete from postroad.dead where id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_idempotency
-- Delete idempotency keys.
delete from postroad.idempotency
 where (queue_id, key) in (
   select i.queue_id, i.key from postroad.queue q join postroad.idempotency i on i.queue_id = q.id
    where q.tenant = $1 and ($2::text = '' or q.name = $2) and i.message_id < $3 limit $4)

-- name: erase_kept_body
-- Delete the bodies of delivered messages.
delete from postroad.kept_body
 where id in (
   select b.id from postroad.queue q join postroad.kept_body b on b.queue_id = q.id
    where q.tenant = $1 and ($2::text = '' or q.name = $2) and b.id < $3 limit $4)

-- name: erase_job_output
-- Delete what jobs gave.
delete from postroad.job_output
 where (id, kind) in (
   select b.id, b.kind from postroad.queue q join postroad.job_output b on b.queue_id = q.id
    where q.tenant = $1 and ($2::text = '' or q.name = $2) and b.id < $3 limit $4)

-- name: erase_broker_message
-- Delete what is recorded about messages of a broker.
delete from postroad.broker_message where id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_jobs_find
-- Count the jobs of a tenant's campaigns that a live sender works at.
select count(*) from postroad.job j join postroad.campaign c on c.id = j.campaign_id
 where c.tenant = $1 and j.owner is not null and j.lease_until > $2

-- name: erase_job
-- Delete the jobs of a tenant's campaigns.
delete from postroad.job where campaign_id in (select id from postroad.campaign where tenant = $1)

-- name: erase_campaign_op
-- Delete operations of a tenant's campaigns.
delete from postroad.campaign_op
 where (campaign_id, n) in (select o.campaign_id, o.n from postroad.campaign c join postroad.campaign_op o on o.campaign_id = c.id
                             where c.tenant = $1 limit $2)

-- name: erase_campaign_message
-- Delete recipients of a tenant's campaigns.
delete from postroad.campaign_message
 where (campaign_id, n) in (
   select m.campaign_id, m.n from postroad.campaign c join postroad.campaign_message m on m.campaign_id = c.id
    where c.tenant = $1 limit $2)

-- name: erase_campaign_import
-- Delete the imports into a tenant's campaigns.
delete from postroad.campaign_import where campaign_id in (select id from postroad.campaign where tenant = $1)

-- name: erase_campaign
-- Delete a tenant's campaigns.
delete from postroad.campaign where tenant = $1

-- name: erase_credential
-- Delete a tenant's credentials.
delete from postroad.credential where tenant = $1

-- name: erase_recipient_find
-- Find the next campaign with a recipient, and whether a call to it is under way.
select c.id, m.n, exists (select 1 from postroad.campaign_op o join postroad.job j on j.id = o.job_id
                           where o.campaign_id = c.id and o.n = m.n and o.state = 'intent'
                             and j.owner is not null and j.lease_until > $4)
  from postroad.campaign c join postroad.campaign_message m on m.campaign_id = c.id and m.recipient = $2
 where c.tenant = $1 and c.id > $3 order by c.id limit 1

-- name: erase_recipient_op
-- Delete the operation of a recipient, unless a call is under way.
delete from postroad.campaign_op as o
 where o.campaign_id = $1 and o.n = $2
   and not (o.state = 'intent' and exists (select 1 from postroad.job j
                                            where j.id = o.job_id and j.owner is not null and j.lease_until > $3))

-- name: erase_recipient
-- Delete a recipient of a campaign that has no operation, also from its counts.
with gone as (
  delete from postroad.campaign_message m
   where m.campaign_id = $1 and m.n = $2
     and not exists (select from postroad.campaign_op o where o.campaign_id = $1 and o.n = $2)
  returning m.state, m.status, m.temporary)
update postroad.campaign c
   set total = c.total - 1, sent = c.sent - (g.state = 'sent')::int, failed = c.failed - (g.state = 'failed')::int,
       uncertain = c.uncertain - (g.state = 'uncertain')::int,
       suppressed = c.suppressed - (g.state = 'suppressed')::int, temporary = c.temporary - g.temporary,
       undelivered = c.undelivered - (g.status in ('bounced', 'undelivered', 'failed', 'canceled'))::int
  from gone g where c.id = $1

-- name: erase_suppression
-- Delete a slice of a tenant's suppression list.
delete from postroad.suppression where id in (select id from postroad.suppression where tenant = $1 order by id limit $2)

-- name: erase_suppression_digest
-- Keep a digest of a recipient for each reason, without anything else.
insert into postroad.suppression (tenant, address, recipient, reason, at, campaign, message, note)
select tenant, $3::text, $3::text, reason, at, '', '', '' from postroad.suppression where address = $2 and tenant = $1
on conflict do nothing

-- name: erase_suppression_of
-- Delete a recipient from a suppression list.
delete from postroad.suppression where address = $2 and tenant = $1

-- name: erase_mail_report
-- Delete a slice of what was reported to a tenant.
delete from postroad.mail_report where id in (select id from postroad.mail_report where tenant = $1 order by id limit $2)

-- name: erase_mail_report_one
-- Delete a slice of what was reported to a tenant about one recipient.
delete from postroad.mail_report where id in (select id from postroad.mail_report where address = $2 and tenant = $1 limit $3)

-- name: erase_letter
-- Delete letters in mailboxes.
delete from postroad.letter
 where (mailbox, position) in (
   select l.mailbox, l.position from postroad.mailbox b join postroad.letter l on l.mailbox = b.number
    where b.tenant = $1 and ($2::text = '' or b.name = $2) limit $3)

-- name: erase_mailbox
-- Delete mailboxes.
delete from postroad.mailbox where tenant = $1 and ($2::text = '' or name = $2)

-- name: erase_queue_find
-- Walk over queues; returns those that hold nothing and whose lanes nobody owns, and how far this went.
with next as materialized (
  select id, tenant, name, transport from postroad.queue where id > $3 order by id limit $4)
select q.id, q.id from next q
 where q.tenant = $1 and ($2::text = '' or q.name = $2) and not (q.transport = 'handler' and q.tenant = $5)
   and q.id in (select postroad.empty_queues(array[q.id]))
union all
select null, max(id) from next having max(id) is not null

-- name: erase_queue
-- Delete queues that hold nothing, and whose lanes nobody owns; returns how many.
select postroad.erase_queues(array(select value::bigint from json_array_elements_text($1::json)))

-- name: erase_queues_left_find
-- Count the queues that are left.
select count(*) from postroad.queue q where q.tenant = $1 and ($2::text = '' or q.name = $2) and not (q.transport = 'handler' and q.tenant = $3)

-- name: erase_pace_count
-- Delete what limits of a tenant's lanes have used.
delete from postroad.pace_count where ledger in (select id from postroad.pace where queue_id = 0 and tenant = $1)

-- name: erase_pace_share
-- Delete who reserves on limits of a tenant's lanes.
delete from postroad.pace_share where ledger in (select id from postroad.pace where queue_id = 0 and tenant = $1)

-- name: erase_pace
-- Delete limits of a tenant's lanes.
delete from postroad.pace where queue_id = 0 and tenant = $1

-- name: erase_audit_find
-- Walk over lines of the audit log; answers those of a tenant that name the recipient, and how far this went.
with next as materialized (select id, tenant, verb, what from postroad.audit where id > $3 order by id limit $4)
select n.id, n.id from next n
 where n.tenant = $1 and ($2::text = '' or strpos(lower(n.what), lower($2)) > 0) and n.verb not like 'privacy%' and n.what <> '{}'
union all
select null, max(id) from next having max(id) is not null

-- name: erase_audit
-- Take out of lines of the audit log what they name.
update postroad.audit set what = '{}' where id in (select value::bigint from json_array_elements_text($1::json))

-- name: erase_broker_find
-- Walk over what is recorded about messages of a broker; answers finished ones that are meant, and how far this went.
with next as materialized (
  select id, queue_id, done from postroad.broker_message where id > $3 and id < $5 order by id limit $4)
select n.id, n.id from next n join postroad.queue q on q.id = n.queue_id where n.done = 1 and q.tenant = $1 and ($2::text = '' or q.name = $2)
union all
select null, max(id) from next having max(id) is not null

-- name: erase_endpoint_hours
-- Delete the hours of a tenant's endpoints, or of the one whose queue has this name.
delete from postroad.endpoint_hour where endpoint_id in (
  select id from postroad.endpoint
   where tenant = $1 and ($2::text = '' or queue_id in (select id from postroad.queue where tenant = $1 and name = $2)))

-- name: erase_endpoint_rules
-- Delete what is set for the endpoints of a tenant.
delete from postroad.endpoint_rules where tenant = $1

-- name: erase_endpoint
-- Delete a tenant's endpoints, or the one whose queue has this name.
delete from postroad.endpoint
 where tenant = $1 and ($2::text = '' or queue_id in (select id from postroad.queue where tenant = $1 and name = $2))

-- name: erase_event_key
-- Delete keys of a tenant's publishes.
delete from postroad.event_key
 where (tenant, key) in (select tenant, key from postroad.event_key where tenant = $1 and event_id < $2 limit $3)

-- name: erase_event_message
-- Delete what says which messages replays made of a tenant's events.
delete from postroad.event_message
 where (event_id, message_id) in (select x.event_id, x.message_id from postroad.event e join postroad.event_message x on x.event_id = e.id
                                   where e.tenant = $1 and e.id < $2 limit $3)

-- name: erase_tick
-- Delete what became of ticks of a tenant's timetables; not of those that programs declare.
delete from postroad.tick where (tenant, schedule, at) in (
  select tenant, schedule, at from postroad.tick
   where tenant = $1 and message_id < $2
     and schedule not in (select name from postroad.schedule where tenant = $1 and origin = 'code') limit $3)

-- name: erase_schedule
-- Delete a tenant's timetables that were made at run time, or those that send to one queue.
delete from postroad.schedule where tenant = $1 and origin = 'made' and ($2::text = '' or queue = $2)

-- name: erase_replay
-- Delete a tenant's replays, or those of one queue.
delete from postroad.replay where tenant = $1 and ($2::text = '' or queue = $2)

-- name: erase_event
-- Delete a tenant's events.
delete from postroad.event where id in (select id from postroad.event where tenant = $1 and id < $2 limit $3)

-- name: erase_batch_held
-- Delete what follows a tenant's batches: nothing of it is sent any more.
delete from postroad.batch_held where $2::text = '' and queue_id in (select id from postroad.queue where tenant = $1)

-- name: erase_batch_named
-- Empty what follows batches and is for one recipient, so that it expires and is never tried.
update postroad.batch_held set headers = '', body = 'null', order_key = '', due = 4611686018427387903, expires_at = 1
 where id in (select h.id from postroad.batch_held h join postroad.queue q on q.id = h.queue_id
               where q.tenant = $1 and $2::text <> '' and (q.name = $2 or (position('"postroad-to":'::bytea in h.headers) > 0 and convert_from(h.headers, 'UTF8')::json ->> 'postroad-to' = $2)))

-- name: erase_batch_member
-- Delete who is a member of a tenant's batches.
delete from postroad.batch_member
 where message_id in (select m.message_id from postroad.batch_member m join postroad.batch b on b.id = m.batch_id
                       where b.tenant = $1 and b.id < $2 limit $3)

-- name: erase_batch_count
-- Delete the counts of a tenant's batches.
delete from postroad.batch_count
 where batch_id in (select c.batch_id from postroad.batch_count c join postroad.batch b on b.id = c.batch_id
                     where b.tenant = $1 and b.id < $2 limit $3)

-- name: erase_batch
-- Delete a tenant's batches.
delete from postroad.batch where id in (select id from postroad.batch where tenant = $1 and id < $2 limit $3)

-- name: erase_tenant
-- Delete what is set for a tenant itself.
delete from postroad.tenant where name = $1
