-- Events are published to endpoints: these, the types of events, and events themselves.

-- name: set_version
-- Read the version of a set.
select version from event_set where tenant = ?1

-- name: set_raise
-- Raise the version of a set.
insert into event_set (tenant, version) values (?1, 1)
on conflict (tenant) do update set version = version + 1

-- name: endpoint_write
-- Store an endpoint, if it is new or what is stored is of the version before. One that was deleted stays so.
insert into endpoint (id, tenant, queue_id, url, spec, made_at, version, expires_at, changed_at, secret_notice_at)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?6, ?9
 where ?7 = 1 or exists (select 1 from endpoint where id = ?1)
on conflict (id) do update
   set url = excluded.url, spec = excluded.spec, version = excluded.version, expires_at = excluded.expires_at,
       secret_notice_at = excluded.secret_notice_at
 where version = excluded.version - 1

-- name: endpoint_version
-- Read how often an endpoint was changed.
select version from endpoint where id = ?1

-- name: queue_lane_move
-- Let another lane serve a queue.
update queue_lane set lane_id = ?2 where queue_id = ?1

-- name: rungs_move
-- Move a queue's rungs to another lane.
update rung set lane_id = ?2 where queue_id = ?1

-- name: dead_move
-- Let a queue's dead messages be replayed on another lane.
update dead set lane_id = ?2 where queue_id = ?1

-- name: endpoint_delete
-- Delete an endpoint; answers its queue.
delete from endpoint where tenant = ?1 and id = ?2 returning queue_id

-- name: endpoint_page
-- List a tenant's endpoints with the policy and lane of their queues.
select e.id, e.tenant, e.queue_id, e.url, e.spec, e.made_at, e.version, e.expires_at,
       e.state, e.disabled_by, e.reason, e.changed_at, e.failing_since, e.failed_at,
       e.error, e.noticed_at, e.spell_since, e.draining_since, e.secret_notice_at,
       q.policy, ql.lane_id, case when q.block_kind = 'disabled' then q.block_reason else '' end
  from endpoint e join queue q on q.id = e.queue_id join queue_lane ql on ql.queue_id = q.id and ql.shard = 0
 where e.tenant = ?1 and e.id > ?2 order by e.id limit ?3

-- name: endpoint_expiring
-- List the endpoints that expire first.
select expires_at, tenant, id from endpoint where expires_at < 4611686018427387904 order by expires_at limit ?1

-- name: event_type_write
-- Store an event type.
insert into event_type (name, description, schema, warn, archived) values (?1, ?2, ?3, ?4, ?5)
on conflict (name) do update
   set description = excluded.description, schema = excluded.schema, warn = excluded.warn,
       archived = excluded.archived

-- name: event_types
-- List all event types.
select name, description, schema, warn, archived from event_type order by name

-- name: event_key_find
-- Find the first use of a key, unless it has expired.
select e.id, e.first_message, e.matched, k.digest from event_key k join event e on e.id = k.event_id
 where k.tenant = ?1 and k.key = ?2 and k.expires_at > ?3

-- name: event_key_insert
-- Note the first use of a key.
insert or replace into event_key (tenant, key, event_id, digest, expires_at) values (?1, ?2, ?3, ?4, ?5)

-- name: event_insert
-- Store an event.
insert into event (id, tenant, type, channels, made_at, first_message, last_message, matched, body)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: event_page
-- List a tenant's events, the newest first.
select id, tenant, type, x'' as body, channels, made_at, first_message, last_message, matched
  from event where tenant = ?1 and id < ?2 order by id desc limit ?3

-- name: events_unmatched
-- Count a tenant's kept events that no endpoint matched, by type, with the last one of each.
select type, count(*), max(id) from event where tenant = ?1 and matched = 0 group by type order by type

-- name: event_read
-- Read an event of a tenant with its body.
select id, tenant, type, body, channels, made_at, first_message, last_message, matched
  from event where id = ?2 and tenant = ?1

-- name: event_keys_retain
-- Delete expired keys.
delete from event_key
 where (tenant, key) in (select tenant, key from event_key where expires_at <= ?1 limit ?2)

-- name: events_retain
-- Delete events from before an id that no message of theirs can need any more: none is unfinished, dead, or
-- kept.
delete from event where id in (
  select e.id from event e
   where e.id < ?1
     and not exists (select 1 from message m where m.id between e.first_message and e.last_message)
     and not exists (select 1 from dead d where d.id between e.first_message and e.last_message)
     and not exists (select 1 from kept_body k where k.id between e.first_message and e.last_message)
     and not exists (select 1 from event_message x
                      where x.event_id = e.id
                        and (exists (select 1 from message where id = x.message_id)
                             or exists (select 1 from dead where id = x.message_id)
                             or exists (select 1 from kept_body where id = x.message_id)))
   order by e.id limit ?2)
returning id
