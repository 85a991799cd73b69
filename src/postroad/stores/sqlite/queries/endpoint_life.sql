-- The life of endpoints: states, spells of failures, counts by the hour.

-- name: endpoint_turn
-- Change the life of an endpoint. One that is being deleted expires: should the process be killed, another ends it.
update endpoint
   set state = ?2, disabled_by = ?3, reason = ?4, changed_at = ?5, noticed_at = ?6, spell_since = ?7,
       draining_since = ?8, secret_notice_at = ?9, failing_since = coalesce(?10, failing_since), version = version + 1,
       expires_at = case when ?2 = 'deleting' then min(expires_at, ?5) else expires_at end
 where id = ?1

-- name: set_raise_of
-- Raise the version of the set that an endpoint belongs to.
insert into event_set (tenant, version) select tenant, 1 from endpoint where id = ?1
on conflict (tenant) do update set version = version + 1

-- name: endpoint_hour_add
-- Add counts to an hour of the endpoint with a queue.
insert into endpoint_hour (endpoint_id, at,
  delivered, failed, rejected, quota, unreachable, unknown, later, dead, took0, took1, took2, took3,
  took4, took5, took6, took7, took8, took9, took10, took11, took12, took13, took14, took15, took16,
  took17, setup)
select e.id, ?2,
  ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
  ?25, ?26, ?27, ?28, ?29
  from endpoint e where e.queue_id = ?1
on conflict do update set
  delivered = endpoint_hour.delivered + excluded.delivered, failed = endpoint_hour.failed +
  excluded.failed, rejected = endpoint_hour.rejected + excluded.rejected, quota = endpoint_hour.quota +
  excluded.quota, unreachable = endpoint_hour.unreachable + excluded.unreachable, unknown =
  endpoint_hour.unknown + excluded.unknown, later = endpoint_hour.later + excluded.later, dead =
  endpoint_hour.dead + excluded.dead, took0 = endpoint_hour.took0 + excluded.took0, took1 =
  endpoint_hour.took1 + excluded.took1, took2 = endpoint_hour.took2 + excluded.took2, took3 =
  endpoint_hour.took3 + excluded.took3, took4 = endpoint_hour.took4 + excluded.took4, took5 =
  endpoint_hour.took5 + excluded.took5, took6 = endpoint_hour.took6 + excluded.took6, took7 =
  endpoint_hour.took7 + excluded.took7, took8 = endpoint_hour.took8 + excluded.took8, took9 =
  endpoint_hour.took9 + excluded.took9, took10 = endpoint_hour.took10 + excluded.took10, took11 =
  endpoint_hour.took11 + excluded.took11, took12 = endpoint_hour.took12 + excluded.took12, took13 =
  endpoint_hour.took13 + excluded.took13, took14 = endpoint_hour.took14 + excluded.took14, took15 =
  endpoint_hour.took15 + excluded.took15, took16 = endpoint_hour.took16 + excluded.took16, took17 =
  endpoint_hour.took17 + excluded.took17, setup = endpoint_hour.setup + excluded.setup

-- name: endpoint_mark
-- Begin, prolong or end the spell of failures of an endpoint.
update endpoint
   set failing_since = case when ?3 = 0 then 0 when ?2 or failing_since = 0 then ?3 else failing_since end,
       failed_at = max(failed_at, ?4), error = ?5
 where queue_id = ?1 and (failing_since > 0 or ?3 > 0)

-- name: endpoints_of
-- Read endpoints by their queues.
select e.id, e.tenant, e.queue_id, e.url, e.spec, e.made_at, e.version, e.expires_at, e.state, e.disabled_by, e.reason, e.changed_at, e.failing_since, e.failed_at,
       e.error, e.noticed_at, e.spell_since, e.draining_since, e.secret_notice_at,
       q.policy, ql.lane_id, case when q.block_kind = 'disabled' then q.block_reason else '' end
  from endpoint e join queue q on q.id = e.queue_id join queue_lane ql on ql.queue_id = q.id and ql.shard = 0
 where e.queue_id in (select value from json_each(?1)) order by e.id

-- name: endpoints_watched
-- List endpoints that are not simply enabled and healthy, those whose order group is held, and those that are read (they
-- have no URL) if they are asked for.
select e.id, e.tenant, e.queue_id, e.url, e.spec, e.made_at, e.version, e.expires_at, e.state, e.disabled_by, e.reason, e.changed_at, e.failing_since, e.failed_at,
       e.error, e.noticed_at, e.spell_since, e.draining_since, e.secret_notice_at,
       q.policy, ql.lane_id, case when q.block_kind = 'disabled' then q.block_reason else '' end
  from endpoint e join queue q on q.id = e.queue_id join queue_lane ql on ql.queue_id = q.id and ql.shard = 0
 where e.id > ?1
   and (e.state <> 'enabled' or e.failing_since > 0 or e.noticed_at > 0 or e.draining_since > 0 or e.secret_notice_at > 0
        or e.queue_id in (select r.queue_id from rung r where r.held <> '')
        or q.block_kind = 'disabled' or (?3 and e.url = ''))
 order by e.id limit ?2

-- name: endpoint_hours
-- Read the hours of an endpoint.
select at,
  delivered, failed, rejected, quota, unreachable, unknown, later, dead, took0, took1, took2, took3,
  took4, took5, took6, took7, took8, took9, took10, took11, took12, took13, took14, took15, took16,
  took17, setup
  from endpoint_hour where endpoint_id = ?1 and at >= ?2 and at < ?3 order by at

-- name: endpoint_backlog
-- Count the unfinished messages of a queue, up to a number, and tell when the oldest of them was accepted, and the oldest
-- of the lowest level.
select count(*), coalesce(min(accepted_at), 0), coalesce(min(accepted_at) filter (where level = 0), 0)
  from (select m.accepted_at, m.level from rung r cross join message m on m.rung_id = r.id
         where r.queue_id = ?1 limit ?2)

-- name: endpoint_held_head
-- Find the exhausted message that holds back the order group of a queue.
select m.id from rung r cross join message m on m.rung_id = r.id
 where r.queue_id = ?1 and r.held <> '' order by m.place, m.id limit 1

-- name: endpoint_rules
-- Read the rules of a tenant, else of all.
select rules from endpoint_rules where tenant in (?1, '*') order by tenant = '*' limit 1

-- name: endpoint_rules_put
-- Store the rules of a tenant, or of all.
insert into endpoint_rules (tenant, rules) values (?1, ?2)
on conflict (tenant) do update set rules = excluded.rules

-- name: endpoint_excess
-- List the messages of a queue from before an id (they are in time order), and the oldest of more than so many (0: any
-- number); each with whether it is of the former.
with held as materialized (
  select m.id from rung r cross join message m on m.rung_id = r.id where r.queue_id = ?1 and r.level >= 0)
select id, id < ?2 from held order by id
 limit min(?4, max((select count(*) from held where id < ?2),
                   case when ?3 > 0 then (select count(*) from held) - ?3 else 0 end))

-- name: endpoint_held
-- Find those of these messages that are held for an endpoint, while it is disabled, or wait to be read.
select m.id from endpoint e cross join json_each(?2) j cross join message m on m.id = j.value
       cross join rung r on r.id = m.rung_id and r.queue_id = e.queue_id and r.level >= 0
 where e.id = ?1 and (e.state = 'disabled' or e.url = '')

-- name: endpoint_hours_retain
-- Delete a slice of the hours from before a time.
delete from endpoint_hour where (endpoint_id, at) in (
  select endpoint_id, at from endpoint_hour where at < ?1 limit ?2)

-- name: endpoint_hours_delete
-- Delete the hours of an endpoint.
delete from endpoint_hour where endpoint_id = ?1
