-- How campaigns are made, found, moved from state to state, and counted.
-- States are said twice where a partial index asks for its own condition.

-- name: campaign_create
-- Insert a new draft, unless the name is taken.
insert into campaign (tenant, name, credential, spec, created_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (tenant, name) do nothing

-- name: campaign_find
-- Find a campaign by tenant and name.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from campaign where tenant = ?1 and name = ?2

-- name: campaign_by_id
-- Find a campaign by number.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from campaign where id = ?1

-- name: campaigns_of_tenant
-- List a tenant's campaigns in the order in which they were made.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from campaign where tenant = ?1 and id > ?2 order by id limit ?3

-- name: campaigns_due
-- List scheduled campaigns whose time has come.
select id, tenant, name, credential, spec, columns, state, reason, halts, start_at, total, sent,
       failed, uncertain, undelivered, suppressed, temporary, created_at, started_at, ended_at
  from campaign
 where state in ('scheduled', 'running') and state = 'scheduled' and start_at <= ?1

-- name: campaign_next_start
-- Read when the next scheduled campaign starts; 0 when none does.
select coalesce(min(start_at), 0) from campaign
 where state in ('scheduled', 'running') and state = 'scheduled' and start_at > ?1

-- name: campaign_move
-- Change a campaign's state, if it is in one of these states.
update campaign set state = ?2, reason = ?3, start_at = case when ?4 > 0 then ?4 else start_at end,
       started_at = case when ?2 = 'running' and started_at = 0 then ?5 else started_at end,
       ended_at = case when ?2 in ('done', 'cancelled') then ?5 else 0 end,
       place = case when ?2 = 'running' then 0 else place end
 where id = ?1 and state in (select value from json_each(?6))

-- name: campaign_edit
-- Replace the credential and the spec of a campaign that has not begun and is as it was read.
update campaign set credential = ?2, spec = ?3
 where id = ?1 and state in ('draft', 'scheduled') and credential = ?4 and spec = ?5 and columns = ?6
   and not exists (select 1 from campaign_import where campaign_id = ?1)

-- name: campaign_doom
-- Let a campaign that is over, or has not begun, never start again: it is being deleted.
update campaign set state = 'cancelled', reason = 'being deleted',
       ended_at = case when ended_at = 0 then ?2 else ended_at end
 where id = ?1 and state in ('draft', 'cancelled', 'done')
   and not exists (select 1 from job where campaign_id = ?1 and (owner is not null or state in ('READY', 'ENQUEUED', 'SENDING')))

-- name: campaign_delete
-- Delete a campaign without recipients.
delete from campaign where id = ?1

-- name: campaign_note
-- Say why a running campaign waits.
update campaign set reason = ?2 where id = ?1 and state = 'running'

-- name: campaign_held
-- Read until when nothing of a queue may start on its lane (for two seconds more each time, since all of it may end
-- early; 0 when nothing holds it), and whether its circuit is open.
select case when max(l.circuit_until, q.block_until) > ?3 or l.paused_at > 0 or q.paused_at > 0 then ?3 + 2000 else 0 end,
       l.circuit_opened > 0
  from queue q, lane l where q.id = ?1 and l.id = ?2

-- name: campaign_override
-- Let a campaign no longer halt by itself.
update campaign set halts = 0 where id = ?1

-- name: campaign_add
-- Add to a campaign's counts, and go back to a place from which recipients are unsent again.
update campaign set sent = sent + ?2, failed = failed + ?3, uncertain = uncertain + ?4,
       undelivered = undelivered + ?5, suppressed = suppressed + ?6, place = min(place, ?7), temporary = temporary + ?8
 where id = ?1

-- name: campaign_exact
-- Count a campaign's recipients one by one.
select state, count(*), coalesce(sum(status in ('bounced', 'undelivered', 'failed', 'canceled')), 0)
  from campaign_message where campaign_id = ?1 group by state

-- name: campaign_place
-- Note up to which recipient a campaign is enqueued.
update campaign set place = ?2 where id = ?1

-- name: campaign_no_failures
-- Set a campaign's counts of those who were not sent to back to 0.
update campaign set failed = 0, suppressed = 0, temporary = 0 where id = ?1

-- name: campaign_goes_by
-- Tell whether a campaign goes through one of these channels.
select c.kind in (select value from json_each(?2)) from campaign x join credential c on c.id = x.credential where x.id = ?1

-- name: campaigns_over
-- Find campaigns with jobs to finalise that no sender works on.
select x.id, x.name, x.state, x.total, x.sent, x.failed, x.uncertain, x.undelivered, x.suppressed
  from campaign x
 where x.id in (select campaign_id from job where state <> 'LOGGED' and state in ('SENT', 'STOPPED'))
   and not exists (select 1 from job j where j.campaign_id = x.id
                      and (j.owner is not null or j.state in ('READY', 'ENQUEUED', 'SENDING')))
