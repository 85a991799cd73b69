-- Exporting what is stored about a tenant, or about one recipient of it. Statements get tenant, recipient, the
-- key of the last row (two numbers) and a limit. Rows have their key as k1 and k2.

-- name: export_tenant
-- Read what is set for a tenant itself.
select 1 as k1, 0 as k2, t.description, t.limits, t.made_at from tenant t
 where t.name = ?1 and ?2 = '' and ?3 < 1 and ?4 >= 0 limit ?5

-- name: export_queue
-- Walk over queues.
with next as materialized (select * from queue where id > ?3 and ?4 >= 0 order by id limit ?5)
select q.id as k1, 0 as k2, q.tenant = ?1 and (?2 = '' or q.name = ?2) as meant, q.name, q.transport, q.policy, q.paused_at, q.block_kind, q.block_until,
       q.block_reason
  from next q where (q.tenant = ?1 and (?2 = '' or q.name = ?2)) or q.id = (select max(id) from next)

-- name: export_webhook
-- Walk over settings of webhooks, without their secrets.
with next as materialized (
  select queue_id as id, settings from webhook where queue_id > ?3 and ?4 >= 0 order by queue_id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2), false) as meant, q.name as url, n.settings
  from next n left join queue q on q.id = n.id where (q.tenant = ?1 and (?2 = '' or q.name = ?2)) or n.id = (select max(id) from next)

-- name: export_endpoint
-- Read a tenant's endpoints, without the secrets of their queues.
select e.id as k1, 0 as k2, e.id as endpoint_id, e.url, e.spec, e.state, e.disabled_by, e.reason, e.failing_since, e.error, e.made_at
  from endpoint e join queue q on q.id = e.queue_id
 where e.tenant = ?1 and (?2 = '' or q.name = ?2) and e.id > ?3 and ?4 >= 0 order by e.id limit ?5

-- name: export_event
-- Read a tenant's events with their bodies.
select e.id as k1, 0 as k2, e.id as event_id, e.type, e.channels, e.made_at, e.matched, e.body
  from event e where e.tenant = ?1 and ?2 = '' and e.id > ?3 and ?4 >= 0 order by e.id limit ?5

-- name: export_limit
-- Read rate limits of queues and lanes.
select p.id as k1, 0 as k2, coalesce(q.name, '') as queue, p.transport, p.server, p.credential, p.name, p.lanes, p.spec as rate, p.cost, p.hours, p.zone
  from pace p left join queue q on q.id = p.queue_id
 where ((q.id is not null and q.tenant = ?1 and (?2 = '' or q.name = ?2)) or (p.queue_id = 0 and p.tenant = ?1 and ?2 = ''))
   and p.id > ?3 and ?4 >= 0 order by p.id limit ?5

-- name: export_message
-- Walk over unfinished messages.
with next as materialized (select * from message where id > ?3 and ?4 >= 0 order by id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.id, q.name as queue, n.accepted_at, n.due,
       n.expires_at, n.level, n.attempts, n.order_key, n.headers, n.body
  from next n left join rung r on r.id = n.rung_id left join queue q on q.id = r.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2))) or n.id = (select max(id) from next)

-- name: export_dead
-- Walk over dead messages.
with next as materialized (select * from dead where id > ?3 and ?4 >= 0 order by id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.id, q.name as queue, n.accepted_at, n.died_at,
       n.reason, n.level, n.attempts, n.order_key, n.error, n.status, n.headers, n.body
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2))) or n.id = (select max(id) from next)

-- name: export_job_output
-- Walk over what jobs gave.
with next as materialized (select * from job_output where (id, kind) > (?3, ?4) order by id, kind limit ?5)
select n.id as k1, n.kind as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.id, q.name as queue,
       case sign(n.kind) when 0 then 'progress' when 1 then 'result' else 'failure' end as output, n.ends_at, n.body
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_kept_body
-- Walk over bodies of delivered messages.
with next as materialized (select * from kept_body where id > ?3 and ?4 >= 0 order by id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.id, q.name as queue, n.order_key,
       n.ends_at, n.headers, n.body
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_batch_held
-- Walk over messages that follow batches.
with next as materialized (select * from batch_held where id > ?3 and ?4 >= 0 order by id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or case when instr(n.headers, '"postroad-to":') > 0 then json_extract(cast(n.headers as text), '$."postroad-to"') = ?2 end), false) as meant, n.id,
       q.name as queue, n.due, n.expires_at, n.order_key, n.headers, n.body
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or case when instr(n.headers, '"postroad-to":') > 0 then json_extract(cast(n.headers as text), '$."postroad-to"') = ?2 end)) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_batch
-- Read batches of a tenant.
select id as k1, 0 as k2, id as batch_id, state, total, delivered, dead, cancelled, made_at, ended_at, sent
  from batch where tenant = ?1 and ?2 = '' and id > ?3 and ?4 >= 0 order by id limit ?5

-- name: export_timetable
-- Read timetables of a tenant that were made at run time, or those that send to one queue.
select version as k1, 0 as k2, name, cron, every_ms, tz, queue, missed, paused, changed_at, body
  from schedule
 where tenant = ?1 and origin = 'made' and (?2 = '' or queue = ?2) and version > ?3 and ?4 >= 0
 order by version limit ?5

-- name: export_history
-- Walk over finished messages.
with next as materialized (select * from history where id > ?3 and ?4 >= 0 order by id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.id, q.name as queue, n.state, n.accepted_at,
       n.finished_at, n.level, n.attempts, n.took_ms,
       coalesce((select recipient from message_recipient where message_id = n.id), '') as recipient
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.id in (select message_id from message_recipient where recipient = ?2))) or n.id = (select max(id) from next)

-- name: export_attempt
-- Walk over tries that did not deliver.
with next as materialized (
  select a.*, coalesce((select r.queue_id from message m join rung r on r.id = m.rung_id where m.id = a.message_id),
                       (select d.queue_id from dead d where d.id = a.message_id),
                       (select h.queue_id from history h where h.id = a.message_id)) as queue_id
    from attempt a where (a.message_id, a.number) > (?3, ?4) order by a.message_id, a.number limit ?5)
select n.message_id as k1, n.number as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.message_id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.message_id, n.number, n.started_at,
       n.level, n.kind as outcome, n.status, n.took_ms, n.error
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.message_id in (select message_id from message_recipient where recipient = ?2))) or (n.message_id, n.number) = (select message_id, number from next
                                                  order by message_id desc, number desc limit 1)

-- name: export_webhook_try
-- Walk over the log of tries of webhooks.
with next as materialized (
  select a.*, coalesce((select r.queue_id from message m join rung r on r.id = m.rung_id where m.id = a.message_id),
                       (select d.queue_id from dead d where d.id = a.message_id),
                       (select h.queue_id from history h where h.id = a.message_id)) as queue_id
    from webhook_try a where a.id > ?3 and ?4 >= 0 order by a.id limit ?5)
select n.id as k1, 0 as k2, coalesce(q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.message_id in (select message_id from message_recipient where recipient = ?2)), false) as meant, n.message_id, n.number, n.started_at, n.level,
       n.outcome, n.status, n.took_ms, n.address, n.fault, n.error, n.headers, n.answer
  from next n left join queue q on q.id = n.queue_id
 where (q.tenant = ?1 and (?2 = '' or q.name = ?2
        or n.message_id in (select message_id from message_recipient where recipient = ?2))) or n.id = (select max(id) from next)

-- name: export_campaign
-- Read a tenant's campaigns.
select c.id as k1, 0 as k2, c.name, c.state, c.reason, c.spec, c.columns, c.total, c.sent, c.failed, c.uncertain,
       c.suppressed, c.created_at, c.started_at, c.ended_at
  from campaign c where +c.tenant = ?1 and ?2 = '' and c.id > ?3 and ?4 >= 0 order by c.id limit ?5

-- name: export_recipient
-- Read recipients of a tenant's campaigns.
select m.campaign_id as k1, m.n as k2, c.name as campaign, m.n, m.line, m.recipient, m.fields, m.state, m.tries,
       m.provider_id, m.error_code, m.sub_type, m.error, m.sent_at, m.answered_at, m.status, m.status_at
  from campaign c join campaign_message m on m.campaign_id = c.id
 where +c.tenant = ?1 and c.id >= ?3 and ?2 = '' and (m.campaign_id, m.n) > (?3, ?4)
 order by c.id, m.n limit ?5

-- name: export_credential
-- Read a tenant's credentials, without their secrets.
select c.id as k1, 0 as k2, c.name, c.kind as channel, c.spec, c.created_at
  from credential c where +c.tenant = ?1 and ?2 = '' and c.id > ?3 and ?4 >= 0 order by c.id limit ?5

-- name: export_attachment
-- Read a tenant's attachments, or those of messages that name a recipient, without their contents.
select b.id as k1, 0 as k2, b.blob as attachment, b.size, b.used_at from blob b
 where b.tenant = ?1 and b.id > ?3 and ?4 >= 0 and (?2 = '' or b.blob in (
   select u.blob from message_recipient r join blob_use u on u.holder = r.message_id where r.recipient = ?2 and u.tenant = ?1))
 order by b.id limit ?5

-- name: export_suppression
-- Read a tenant's suppression list.
select s.id as k1, 0 as k2, s.recipient, s.reason, s.at, s.campaign, s.message, s.note from suppression s
 where s.tenant = ?1 and ?2 = '' and s.id > ?3 and ?4 >= 0 order by s.id limit ?5

-- name: export_suppression_one
-- Read one recipient's entries (the forms of it as JSON) on a tenant's suppression list.
select s.id as k1, 0 as k2, s.recipient, s.reason, s.at, s.campaign, s.message, s.note from suppression s
 where s.address in (select value from json_each(?2)) and +s.tenant = ?1 and s.id > ?3 and ?4 >= 0 order by s.id limit ?5

-- name: export_mail_report
-- Read what was reported about a tenant's messages.
select r.id as k1, 0 as k2, r.address, r.kind, r.at, r.message, r.code, r.note from mail_report r
 where r.tenant = ?1 and ?2 = '' and r.id > ?3 and ?4 >= 0 order by r.id limit ?5

-- name: export_mail_report_one
-- Read what was reported about one recipient (the forms of it as JSON).
select r.id as k1, 0 as k2, r.address, r.kind, r.at, r.message, r.code, r.note from mail_report r
 where r.address in (select value from json_each(?2)) and +r.tenant = ?1 and r.id > ?3 and ?4 >= 0 order by r.id limit ?5

-- name: export_mailbox
-- Walk over mailboxes.
with next as materialized (select * from mailbox where number > ?3 and ?4 >= 0 order by number limit ?5)
select b.number as k1, 0 as k2, b.tenant = ?1 and (?2 = '' or b.name = ?2) as meant, b.name, b.quota, b.ttl_ms,
       b.next - b.first as waiting
  from next b
 where (b.tenant = ?1 and (?2 = '' or b.name = ?2)) or b.number = (select max(number) from next)

-- name: export_letter
-- Walk over letters in mailboxes.
with next as materialized (
  select * from letter where (mailbox, position) > (?3, ?4) order by mailbox, position limit ?5)
select l.mailbox as k1, l.position as k2, coalesce(b.tenant = ?1 and (?2 = '' or b.name = ?2), false) as meant,
       b.name as mailbox, l.position, l.at, l.expires_at, l.body
  from next l left join mailbox b on b.number = l.mailbox
 where (b.tenant = ?1 and (?2 = '' or b.name = ?2))
    or (l.mailbox, l.position) = (select mailbox, position from next order by mailbox desc, position desc limit 1)

-- name: export_token
-- Read a tenant's tokens, which are stored without their secrets.
select row_number() over (order by t.id) as k1, 0 as k2, t.id, t.name, t.kind, t.scopes, t.role, t.created_at, t.expires_at
  from token t where t.tenant = ?1 and ?2 = '' order by t.id limit ?5 offset ?3 + 0 * ?4

-- name: export_audit
-- Walk over lines of the audit log.
with next as materialized (select * from audit where id > ?3 and ?4 >= 0 order by id limit ?5)
select a.id as k1, 0 as k2, a.tenant = ?1 and ?2 = '' as meant, a.asked_at, a.ended_at, a.actor, a.name, a.address,
       a.verb, a.what, a.outcome, a.status, a.count
  from next a where (a.tenant = ?1 and ?2 = '') or a.id = (select max(id) from next)

-- name: export_recipient_one
-- Read one recipient in a tenant's campaigns.
select m.campaign_id as k1, m.n as k2, c.name as campaign, m.n, m.line, m.recipient, m.fields, m.state, m.tries,
       m.provider_id, m.error_code, m.sub_type, m.error, m.sent_at, m.answered_at, m.status, m.status_at
  from campaign c join campaign_message m on m.campaign_id = c.id and m.recipient = ?2
 where +c.tenant = ?1 and c.id > ?3 and ?4 >= 0 order by c.id limit ?5
