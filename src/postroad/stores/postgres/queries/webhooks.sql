-- Settings of webhooks, and the log of tries.

-- name: hook_write
-- Set the settings of a webhook queue.
insert into postroad.webhook (queue_id, settings, key, sealed) values ($1, $2, $3, $4)
on conflict (queue_id) do update
   set settings = excluded.settings, key = excluded.key, sealed = excluded.sealed
returning queue_id

-- name: hook_delete
-- Delete the settings of a webhook queue.
delete from postroad.webhook where queue_id = $1

-- name: hooks_read
-- The settings of webhook queues.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from postroad.webhook w join postroad.queue q on q.id = w.queue_id where w.queue_id = any ($1)

-- name: hook_page
-- A page of the settings of a tenant's webhooks, by name, without those of endpoints.
select q.name, q.policy, w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from postroad.queue q join postroad.webhook w on w.queue_id = q.id
 where q.tenant = $1 and q.name > $2 and q.name not like 'endpoint:%' order by q.name limit $3

-- name: hooks_not_under
-- Settings that are not sealed with a key, in order of queue.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from postroad.webhook w join postroad.queue q on q.id = w.queue_id
 where w.key <> $1 and w.queue_id > $2 order by w.queue_id limit $3

-- name: hook_reseal
-- Write the same secrets under another key, unless they were changed meanwhile.
update postroad.webhook set key = $2, sealed = $3 where queue_id = $1 and sealed = $4 returning queue_id

-- name: tries_of
-- The tries of a webhook message, in order.
select number, started_at, level, outcome, status, took_ms, error, answered_ms, address, fault,
       connect_ms, headers, answer
  from postroad.webhook_try where message_id = $1 order by id
