-- The life of endpoints: states, spells of failures, counts by the hour.

-- name: endpoints_of
-- Read endpoints by their queues.
select e.id, e.tenant, e.queue_id, e.url, e.spec, e.made_at, e.version, e.expires_at, e.state, e.disabled_by, e.reason, e.changed_at, e.failing_since, e.failed_at,
       e.error, e.noticed_at, e.spell_since, e.draining_since, e.secret_notice_at,
       q.policy, ql.lane_id, case when q.block_kind = 'disabled' then q.block_reason else '' end
  from postroad.endpoint e join postroad.queue q on q.id = e.queue_id join postroad.queue_lane ql on ql.queue_id = q.id and ql.shard = 0
 where e.queue_id = any ($1::text::bigint[]) order by e.id

-- name: endpoints_watched
-- List endpoints that are not simply enabled and healthy, those whose order group is held, and those that are read (they
-- have no URL) if they are asked for.
select e.id, e.tenant, e.queue_id, e.url, e.spec, e.made_at, e.version, e.expires_at, e.state, e.disabled_by, e.reason, e.changed_at, e.failing_since, e.failed_at,
       e.error, e.noticed_at, e.spell_since, e.draining_since, e.secret_notice_at,
       q.policy, ql.lane_id, case when q.block_kind = 'disabled' then q.block_reason else '' end
  from postroad.endpoint e join postroad.queue q on q.id = e.queue_id join postroad.queue_lane ql on ql.queue_id = q.id and ql.shard = 0
 where e.id > $1
   and (e.state <> 'enabled' or e.failing_since > 0 or e.noticed_at > 0 or e.draining_since > 0 or e.secret_notice_at > 0
        or e.queue_id in (select r.queue_id from postroad.rung r where r.held <> '')
        or q.block_kind = 'disabled' or ($3::boolean and e.url = ''))
 order by e.id limit $2

-- name: endpoint_hours
-- Read the hours of an endpoint.
select at,
  delivered, failed, rejected, quota, unreachable, unknown, later, dead, took0, took1, took2, took3,
  took4, took5, took6, took7, took8, took9, took10, took11, took12, took13, took14, took15, took16,
  took17, setup
  from postroad.endpoint_hour where endpoint_id = $1 and at >= $2 and at < $3 order by at

-- name: endpoint_backlog
-- Count the unfinished messages of a queue, up to a number, and tell when the oldest of them was accepted, and the oldest
-- of the lowest level.
select count(*), coalesce(min(accepted_at), 0), coalesce(min(accepted_at) filter (where level = 0), 0)
  from (select m.accepted_at, m.level from postroad.rung r join postroad.message m on m.rung_id = r.id
         where r.queue_id = $1 limit $2) x

-- name: endpoint_held_head
-- Find the exhausted message that holds back the order group of a queue.
select m.id from postroad.rung r join postroad.message m on m.rung_id = r.id
 where r.queue_id = $1 and r.held <> '' order by m.place, m.id limit 1

-- name: endpoint_rules
-- Read the rules of a tenant, else of all.
select rules from postroad.endpoint_rules where tenant in ($1, '*') order by tenant = '*' limit 1

-- name: endpoint_rules_put
-- Store the rules of a tenant, or of all.
insert into postroad.endpoint_rules (tenant, rules) values ($1, $2)
on conflict (tenant) do update set rules = excluded.rules returning 1

-- name: endpoint_turn
-- Change the life of an endpoint, its queue, and store the event that tells it.
select postroad.endpoint_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::json, $15::json)

-- name: endpoint_count
-- Add counts to the hours of endpoints, and write where a spell of failures began or ended.
select postroad.endpoint_count($1::json)

-- name: endpoint_excess
-- List the messages of a queue from before an id (they are in time order), and the oldest of more than so many (0: any
-- number); each with whether it is of the former.
with held as materialized (
  select m.id from postroad.rung r join postroad.message m on m.rung_id = r.id where r.queue_id = $1 and r.level >= 0)
select id, id < $2 from held order by id
 limit least($4::bigint, greatest((select count(*) from held where id < $2),
                                  case when $3::bigint > 0 then (select count(*) from held) - $3 else 0 end))

-- name: endpoint_bury
-- Move messages that are held for an endpoint to the dead set.
select postroad.endpoint_bury($1, $2, $3)
