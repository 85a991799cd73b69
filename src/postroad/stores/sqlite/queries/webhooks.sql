-- Settings of webhooks, and the log of their tries.

-- name: hooks_read
-- Read the settings of webhook queues by a JSON list of their numbers.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from json_each(?1) asked
  join webhook w on w.queue_id = asked.value
  join queue q on q.id = w.queue_id

-- name: hook_page
-- Read a page of the settings of a tenant's webhooks, by name, without those of endpoints.
select q.name, q.policy, w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from queue q join webhook w on w.queue_id = q.id
 where q.tenant = ?1 and q.name > ?2 and q.name not like 'endpoint:%' order by q.name limit ?3

-- name: hooks_not_under
-- List settings that are not sealed with this key, in order of queue.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from webhook w join queue q on q.id = w.queue_id
 where w.key <> ?1 and w.queue_id > ?2 order by w.queue_id limit ?3

-- name: hook_write
-- Set a webhook queue's settings.
insert into webhook (queue_id, settings, key, sealed) values (?1, ?2, ?3, ?4)
on conflict (queue_id) do update
   set settings = excluded.settings, key = excluded.key, sealed = excluded.sealed

-- name: hook_reseal
-- Seal secrets with another key, unless they have changed meanwhile.
update webhook set key = ?2, sealed = ?3 where queue_id = ?1 and sealed = ?4

-- name: hook_delete
-- Delete a webhook queue's settings.
delete from webhook where queue_id = ?1

-- name: try_insert
-- Insert what was seen of a webhook's try; the same try is stored once.
insert or ignore into webhook_try (message_id, number, started_at, level, outcome, status, took_ms,
                                   answered_ms, connect_ms, address, fault, error, headers, answer)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

-- name: tries_of
-- List the tries of a webhook message, in order.
select number, started_at, level, outcome, status, took_ms, error, answered_ms, address, fault,
       connect_ms, headers, answer
  from webhook_try where message_id = ?1 order by id
