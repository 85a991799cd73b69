-- The campaigns and their states.

-- name: campaign_create
-- Make a draft.
insert into postroad.campaign (tenant, name, credential, spec, created_at)
values ($1, $2, $3, $4, postroad.now_ms()) on conflict (tenant, name) do nothing returning id

-- name: campaign_find
-- The campaign of a name.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from postroad.campaign where tenant = $1 and name = $2

-- name: campaign_by_id
-- The campaign of a number.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from postroad.campaign where id = $1

-- name: campaigns_of_tenant
-- A tenant's campaigns, in the order in which they were made.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from postroad.campaign where tenant = $1 and id > $2 order by id limit $3

-- name: campaigns_due
-- Scheduled campaigns whose time has come.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from postroad.campaign where state = 'scheduled' and start_at <= postroad.now_ms()

-- name: campaigns_outlook
-- When the next scheduled campaign starts, whether the time of one has come, and whether senders or loggers have work.
select coalesce((select min(start_at) from postroad.campaign
                  where state = 'scheduled' and start_at > (select postroad.now_ms())), 0) as next,
       exists (select from postroad.campaign
                where state = 'scheduled' and start_at <= (select postroad.now_ms())) as due,
       exists (select from postroad.job where state <> 'LOGGED') as live

-- name: campaign_lock
-- Keep everybody else from changing a campaign until the end of the transaction.
select from postroad.campaign where id = $1 for update

-- name: campaign_move
-- Change the state of a campaign and of its jobs.
select postroad.campaign_move($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: campaign_move_draft
-- Change the state of a draft and of its jobs, unless an import of its recipients is under way.
select postroad.campaign_move($1, $2, $3, $4, $5, $6, $7, $8, $9)
 where not exists (select from postroad.campaign_import where campaign_id = $1)

-- name: campaign_edit
-- Replace the credential and the spec of a campaign that has not begun and is as it was read.
update postroad.campaign set credential = $2, spec = $3
 where id = $1 and state in ('draft', 'scheduled') and credential = $4 and spec = $5 and columns = $6
   and not exists (select from postroad.campaign_import where campaign_id = $1)
returning id

-- name: campaign_delete_some
-- Delete some recipients of a campaign, and it with the last.
select postroad.campaign_delete_some($1, $2)

-- name: campaign_note
-- Say why a running campaign waits.
update postroad.campaign set reason = $2 where id = $1 and state = 'running' returning 1

-- name: campaign_held
-- Read until when nothing of a queue may start on its lane (for two seconds more each time, since all of it may end
-- early; 0 when nothing holds it), and whether its circuit is open.
select case when greatest(l.circuit_until, q.block_until) > postroad.now_ms() or l.paused_at > 0 or q.paused_at > 0
            then postroad.now_ms() + 2000 else 0 end, l.circuit_opened > 0
  from postroad.queue q, postroad.lane l where q.id = $1 and l.id = $2

-- name: campaign_override
-- Let a campaign run on where it would halt.
update postroad.campaign set halts = 0 where id = $1

-- name: campaign_exact
-- Count a campaign's recipients one by one.
select state, count(*), count(*) filter (where status in ('bounced', 'undelivered', 'failed', 'canceled'))
  from postroad.campaign_message where campaign_id = $1 group by state

-- name: campaigns_log
-- Finalise campaigns whose jobs are over.
select postroad.campaign_log()
