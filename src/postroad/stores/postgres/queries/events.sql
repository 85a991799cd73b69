-- Events are published to endpoints: these, the types of events, and events themselves.

-- name: set_version
-- Read the version of a set.
select version from postroad.event_set where tenant = $1

-- name: endpoint_page
-- List a tenant's endpoints with the policy and lane of their queues.
select e.id, e.tenant, e.queue_id, e.url, e.spec, e.made_at, e.version, e.expires_at,
       e.state, e.disabled_by, e.reason, e.changed_at, e.failing_since, e.failed_at,
       e.error, e.noticed_at, e.spell_since, e.draining_since, e.secret_notice_at,
       q.policy, ql.lane_id, case when q.block_kind = 'disabled' then q.block_reason else '' end
  from postroad.endpoint e join postroad.queue q on q.id = e.queue_id join postroad.queue_lane ql on ql.queue_id = q.id and ql.shard = 0
 where e.tenant = $1 and e.id > $2 order by e.id limit $3

-- name: endpoint_expiring
-- List the endpoints that expire first.
select expires_at, tenant, id from postroad.endpoint
 where expires_at < 4611686018427387904 order by expires_at limit $1

-- name: event_types
-- List all event types.
select name, description, schema, warn, archived from postroad.event_type order by name

-- name: event_page
-- List a tenant's events, the newest first.
select id, tenant, type, ''::bytea as body, channels, made_at, first_message, last_message, matched
  from postroad.event where tenant = $1 and id < $2 order by id desc limit $3

-- name: events_unmatched
-- Count a tenant's kept events that no endpoint matched, by type, with the last one of each.
select type, count(*), max(id) from postroad.event where tenant = $1 and matched = 0 group by type order by type

-- name: event_read
-- Read an event of a tenant with its body.
select id, tenant, type, body, channels, made_at, first_message, last_message, matched
  from postroad.event where id = $2 and tenant = $1

-- name: endpoint_put
-- Store an endpoint with the settings of its queue, if what is stored is of the version before.
select postroad.endpoint_put($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)

-- name: endpoint_move
-- Store an endpoint, and move its queue to the lane of another server, if nobody owns the lane that it has.
select postroad.endpoint_move($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: endpoint_drop
-- Delete an endpoint and the settings of its queue.
select postroad.endpoint_drop($1, $2)

-- name: event_type_put
-- Store event types.
select postroad.event_type_put($1, $2, $3, $4, $5)

-- name: publish
-- Store an event and its messages, if the sets are still of these versions.
select postroad.publish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
  $14::text::bigint[], $15::text::bigint[], $16::text::int[], $17)

-- name: set_raise
-- Raise the version of a set.
select postroad.raise_set($1)

-- name: event_arrive
-- Store an event in a caller's transaction.
select postroad.event_arrive($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: event_arrivals
-- List the oldest events that arrived in callers' transactions.
select number, id, tenant, type, body, channels, made_at, key, digest, headers
  from postroad.event_arrival order by number limit $1

-- name: publish_arrival
-- Publish an event that arrived in a caller's transaction.
select postroad.publish_arrival($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
  $15::text::bigint[], $16::text::bigint[], $17::text::int[], $18)
