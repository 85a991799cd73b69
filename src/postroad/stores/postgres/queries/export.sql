-- Exporting what is stored about a tenant, or about one recipient of it. Statements get tenant, recipient, the
-- key of the last row (two numbers) and a limit. Rows have their key as k1 and k2.

-- name: export_tenant
-- Read what is set for a tenant itself.
select 1 as k1, 0 as k2, t.description, t.limits, t.made_at from postroad.tenant t
 where t.name = $1 and $2::text = '' and $3::bigint < 1 and $4::bigint >= 0 limit $5

-- name: export_queue
-- Walk over queues.
with next as materialized (select * from postroad.queue where id > $3 and $4::bigint >= 0 order by id limit $5)
select q.id as k1, 0 as k2, q.tenant = $1 and ($2::text = '' or q.name = $2) as meant, q.name, q.transport, q.policy, q.paused_at, q.block_kind, q.block_until,
       q.block_reason
  from next q where (q.tenant = $1 and ($2::text = '' or q.name = $2)) or q.id = (select max(id) from next)
 order by k1, k2

-- name: export_webhook
-- Walk over settings of webhooks, without their secrets.
with next as materialized (
  select queue_id as id, settings from postroad.webhook where queue_id > $3 and $4::bigint >= 0 order by queue_id limit $5)
select n.id as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2), false) as meant, q.name as url, n.settings
  from next n left join postroad.queue q on q.id = n.id where (q.tenant = $1 and ($2::text = '' or q.name = $2)) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_endpoint
-- Read a tenant's endpoints, without the secrets of their queues.
select e.id as k1, 0 as k2, e.id as endpoint_id, e.url, e.spec, e.state, e.disabled_by, e.reason, e.failing_since, e.error, e.made_at
  from postroad.endpoint e join postroad.queue q on q.id = e.queue_id
 where e.tenant = $1 and ($2::text = '' or q.name = $2) and e.id > $3 and $4::bigint >= 0 order by e.id limit $5

-- name: export_event
-- Read a tenant's events with their bodies.
select e.id as k1, 0 as k2, e.id as event_id, e.type, e.channels, e.made_at, e.matched, e.body
  from postroad.event e where e.tenant = $1 and $2::text = '' and e.id > $3 and $4::bigint >= 0 order by e.id limit $5

-- name: export_limit
-- rate limits of queues and lanes.
select p.id as k1, 0 as k2, coalesce(q.name, '') as queue, p.transport, p.server, p.credential, p.name, p.lanes, p.spec as rate, p.cost, p.hours, p.zone
  from postroad.pace p left join postroad.queue q on q.id = p.queue_id
 where ((q.id is not null and q.tenant = $1 and ($2::text = '' or q.name = $2)) or (p.queue_id = 0 and p.tenant = $1 and $2::text = ''))
   and p.id > $3 and $4::bigint >= 0 order by p.id limit $5

-- name: export_message
-- Walk over unfinished messages.
with next as materialized (select * from postroad.message where id > $3 and $4::bigint >= 0 order by id limit $5)
select n.id as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, n.id, q.name as queue, n.accepted_at, n.due,
       n.expires_at, n.level, n.attempts, n.order_key, n.headers, n.body
  from next n left join postroad.rung r on r.id = n.rung_id left join postroad.queue q on q.id = r.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_dead
-- Walk over dead messages.
with next as materialized (select * from postroad.dead where id > $3 and $4::bigint >= 0 order by id limit $5)
select n.id as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, n.id, q.name as queue, n.accepted_at, n.died_at,
       n.reason, n.level, n.attempts, n.order_key, n.error, n.status, n.headers, n.body
  from next n left join postroad.queue q on q.id = n.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_job_output
-- Walk over what jobs gave.
with next as materialized (select * from postroad.job_output where (id, kind) > ($3::bigint, $4::bigint) order by id, kind limit $5)
select n.id as k1, n.kind as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, n.id, q.name as queue,
       case sign(n.kind) when 0 then 'progress' when 1 then 'result' else 'failure' end as output, n.ends_at, n.body
  from next n left join postroad.queue q on q.id = n.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_kept_body
-- Walk over bodies of delivered messages.
with next as materialized (select * from postroad.kept_body where id > $3 and $4::bigint >= 0 order by id limit $5)
select n.id as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, n.id, q.name as queue, n.order_key,
       n.ends_at, n.headers, n.body
  from next n left join postroad.queue q on q.id = n.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.id in (select message_id from postroad.message_recipient where recipient = $2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_batch_held
-- Walk over messages that follow batches.
with next as materialized (select * from postroad.batch_held where id > $3 and $4::bigint >= 0 order by id limit $5)
select n.id as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or (position('"postroad-to":'::bytea in n.headers) > 0 and convert_from(n.headers, 'UTF8')::json ->> 'postroad-to' = $2)), false) as meant, n.id,
       q.name as queue, n.due, n.expires_at, n.order_key, n.headers, n.body
  from next n left join postroad.queue q on q.id = n.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or (position('"postroad-to":'::bytea in n.headers) > 0 and convert_from(n.headers, 'UTF8')::json ->> 'postroad-to' = $2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_batch
-- Read batches of a tenant.
select id as k1, 0 as k2, id as batch_id, state, total, delivered, dead, cancelled, made_at, ended_at, sent
  from postroad.batch where tenant = $1 and $2::text = '' and id > $3 and $4::bigint >= 0 order by id limit $5

-- name: export_timetable
-- Read timetables of a tenant that were made at run time, or those that send to one queue.
select version as k1, 0 as k2, name, cron, every_ms, tz, queue, missed, paused, changed_at, body
  from postroad.schedule
 where tenant = $1 and origin = 'made' and ($2::text = '' or queue = $2) and version > $3 and $4::bigint >= 0
 order by version limit $5

-- name: export_history
-- Walk over history row by row; a row is one message or several.
with next as materialized (
  select * from postroad.history_batch where id > $3 and $4::bigint >= 0 order by id limit $5),
each as (
  select n.id as place, coalesce((n.id >> 28 << 28) + x.id, n.id) as id, coalesce(x.queue, n.queue_id) as queue_id,
         n.state, coalesce(x.accepted, n.accepted_at) as accepted_at, n.finished_at, n.level, n.attempts,
         coalesce(x.took, n.took_ms) as took_ms
    from next n left join lateral unnest(n.ids, n.queues, n.accepted, n.took) x(id, queue, accepted, took) on true)
select e.place as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or e.id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, e.id, q.name as queue, e.state, e.accepted_at,
       e.finished_at, e.level, e.attempts, e.took_ms,
       coalesce((select recipient from postroad.message_recipient where message_id = e.id), '') as recipient
  from each e left join postroad.queue q on q.id = e.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or e.id in (select message_id from postroad.message_recipient where recipient = $2))) or e.place = (select max(id) from next)
 order by e.place, e.id

-- name: export_attempt
-- Walk over tries that did not deliver.
with next as materialized (
  select a.*, coalesce((select r.queue_id from postroad.message m join postroad.rung r on r.id = m.rung_id where m.id = a.message_id),
                       (select d.queue_id from postroad.dead d where d.id = a.message_id),
                       (select h.queue_id from postroad.finished(array[a.message_id]) h limit 1)) as queue_id
    from postroad.attempt a where (a.message_id, a.number) > ($3::bigint, $4::int) order by a.message_id, a.number limit $5)
select n.message_id as k1, n.number as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.message_id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, n.message_id, n.number, n.started_at,
       n.level, n.kind as outcome, n.status, n.took_ms, n.error
  from next n left join postroad.queue q on q.id = n.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.message_id in (select message_id from postroad.message_recipient where recipient = $2))) or (n.message_id, n.number) = (select message_id, number from next
                                                  order by message_id desc, number desc limit 1)
 order by k1, k2

-- name: export_webhook_try
-- Walk over the log of tries of webhooks.
with next as materialized (
  select a.*, coalesce((select r.queue_id from postroad.message m join postroad.rung r on r.id = m.rung_id where m.id = a.message_id),
                       (select d.queue_id from postroad.dead d where d.id = a.message_id),
                       (select h.queue_id from postroad.finished(array[a.message_id]) h limit 1)) as queue_id
    from postroad.webhook_try a where a.id > $3 and $4::bigint >= 0 order by a.id limit $5)
select n.id as k1, 0 as k2, coalesce(q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.message_id in (select message_id from postroad.message_recipient where recipient = $2)), false) as meant, n.message_id, n.number, n.started_at, n.level,
       n.outcome, n.status, n.took_ms, n.address, n.fault, n.error, n.headers, n.answer
  from next n left join postroad.queue q on q.id = n.queue_id
 where (q.tenant = $1 and ($2::text = '' or q.name = $2
        or n.message_id in (select message_id from postroad.message_recipient where recipient = $2))) or n.id = (select max(id) from next)
 order by k1, k2

-- name: export_campaign
-- Read a tenant's campaigns.
select c.id as k1, 0 as k2, c.name, c.state, c.reason, c.spec, c.columns, c.total, c.sent, c.failed, c.uncertain,
       c.suppressed, c.created_at, c.started_at, c.ended_at
  from postroad.campaign c where c.tenant = $1 and $2::text = '' and c.id > $3 and $4::bigint >= 0 order by c.id limit $5

-- name: export_recipient
-- Read recipients of a tenant's campaigns.
select m.campaign_id as k1, m.n as k2, c.name as campaign, m.n, m.line, m.recipient, m.fields, m.state, m.tries,
       m.provider_id, m.error_code, m.sub_type, m.error, m.sent_at, m.answered_at, m.status, m.status_at
  from postroad.campaign c join postroad.campaign_message m on m.campaign_id = c.id
 where c.tenant = $1 and c.id >= $3 and $2::text = '' and (m.campaign_id, m.n) > ($3::bigint, $4::bigint)
 order by c.id, m.n limit $5

-- name: export_credential
-- Read a tenant's credentials, without their secrets.
select c.id as k1, 0 as k2, c.name, c.kind as channel, c.spec, c.created_at
  from postroad.credential c where c.tenant = $1 and $2::text = '' and c.id > $3 and $4::bigint >= 0 order by c.id limit $5

-- name: export_attachment
-- Read a tenant's attachments, or those of messages that name a recipient, without their contents.
select b.id as k1, 0 as k2, b.blob as attachment, b.size, b.used_at from postroad.blob b
 where b.tenant = $1 and b.id > $3 and $4::bigint >= 0 and ($2::text = '' or b.blob in (
   select u.blob from postroad.message_recipient r join postroad.blob_use u on u.holder = r.message_id
    where r.recipient = $2 and u.tenant = $1))
 order by b.id limit $5

-- name: export_suppression
-- Read a tenant's suppression list.
select s.id as k1, 0 as k2, s.recipient, s.reason, s.at, s.campaign, s.message, s.note from postroad.suppression s
 where s.tenant = $1 and $2::text = '' and s.id > $3 and $4::bigint >= 0 order by s.id limit $5

-- name: export_suppression_one
-- Read one recipient's entries (the forms of it as JSON) on a tenant's suppression list.
select s.id as k1, 0 as k2, s.recipient, s.reason, s.at, s.campaign, s.message, s.note from postroad.suppression s
 where s.address in (select json_array_elements_text($2::json)) and s.tenant = $1 and s.id > $3 and $4::bigint >= 0
 order by s.id limit $5

-- name: export_mail_report
-- Read what was reported about a tenant's messages.
select r.id as k1, 0 as k2, r.address, r.kind, r.at, r.message, r.code, r.note from postroad.mail_report r
 where r.tenant = $1 and $2::text = '' and r.id > $3 and $4::bigint >= 0 order by r.id limit $5

-- name: export_mail_report_one
-- Read what was reported about one recipient (the forms of it as JSON).
select r.id as k1, 0 as k2, r.address, r.kind, r.at, r.message, r.code, r.note from postroad.mail_report r
 where r.address in (select json_array_elements_text($2::json)) and r.tenant = $1 and r.id > $3 and $4::bigint >= 0 order by r.id limit $5

-- name: export_mailbox
-- Walk over mailboxes.
with next as materialized (select * from postroad.mailbox where number > $3 and $4::bigint >= 0 order by number limit $5)
select b.number as k1, 0 as k2, b.tenant = $1 and ($2::text = '' or b.name = $2) as meant, b.name, b.quota, b.ttl_ms,
       b.next - b.first as waiting
  from next b
 where (b.tenant = $1 and ($2::text = '' or b.name = $2)) or b.number = (select max(number) from next)
 order by k1, k2

-- name: export_letter
-- Walk over letters in mailboxes.
with next as materialized (
  select * from postroad.letter where (mailbox, position) > ($3::bigint, $4::bigint) order by mailbox, position limit $5)
select l.mailbox as k1, l.position as k2, coalesce(b.tenant = $1 and ($2::text = '' or b.name = $2), false) as meant,
       b.name as mailbox, l.position, l.at, l.expires_at, l.body
  from next l left join postroad.mailbox b on b.number = l.mailbox
 where (b.tenant = $1 and ($2::text = '' or b.name = $2))
    or (l.mailbox, l.position) = (select mailbox, position from next order by mailbox desc, position desc limit 1)
 order by k1, k2

-- name: export_token
-- a tenant's tokens, which are stored without their secrets.
select row_number() over (order by t.id) as k1, 0 as k2, t.id, t.name, t.kind, t.scopes, t.role, t.created_at, t.expires_at
  from postroad.token t where t.tenant = $1 and $2::text = '' order by t.id limit $5 offset $3::bigint + 0 * $4::bigint

-- name: export_audit
-- Walk over lines of the audit log.
with next as materialized (select * from postroad.audit where id > $3 and $4::bigint >= 0 order by id limit $5)
select a.id as k1, 0 as k2, a.tenant = $1 and $2::text = '' as meant, a.asked_at, a.ended_at, a.actor, a.name, a.address,
       a.verb, a.what, a.outcome, a.status, a.count
  from next a where (a.tenant = $1 and $2::text = '') or a.id = (select max(id) from next)
 order by k1, k2

-- name: export_recipient_one
-- Read one recipient in a tenant's campaigns.
select m.campaign_id as k1, m.n as k2, c.name as campaign, m.n, m.line, m.recipient, m.fields, m.state, m.tries,
       m.provider_id, m.error_code, m.sub_type, m.error, m.sent_at, m.answered_at, m.status, m.status_at
  from postroad.campaign c join postroad.campaign_message m on m.campaign_id = c.id and m.recipient = $2
 where c.tenant = $1 and c.id > $3 and $4::bigint >= 0 order by c.id limit $5
