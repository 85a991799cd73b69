-- Replays are jobs that send again what failed, what a window held, or what an endpoint missed.

-- name: replay_insert
-- Store a new replay, unless its tenant has so many that have not ended.
insert into replay (id, tenant, queue, spec, state, asked_at, cursor, total)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
 where (select count(*) from replay where tenant = ?2 and state in ('running', 'paused')) < ?9

-- name: replay_page
-- List replays of a tenant, the newest first; or one of them.
select id, tenant, queue, spec, state, reason, asked_at, ended_at, cursor, total, replayed, waiting, owner, leased_until,
       next_at
  from replay where tenant = ?1 and (?2 = 0 or id = ?2) and id < ?3 order by id desc limit ?4

-- name: replays_running
-- List the replays that are due first.
select id, tenant, queue, spec, state, reason, asked_at, ended_at, cursor, total, replayed, waiting, owner, leased_until,
       next_at
  from replay where state = 'running' order by next_at, id limit 100

-- name: replay_turn
-- Change the state of a replay that has not ended.
update replay set state = ?3, reason = ?4, ended_at = ?5, leased_until = 0
 where tenant = ?1 and id = ?2 and state in ('running', 'paused')

-- name: replays_end
-- End the replays of a queue that have not ended.
update replay set state = 'cancelled', reason = ?3, ended_at = ?4, leased_until = 0
 where tenant = ?1 and queue = ?2 and state in ('running', 'paused')

-- name: replay_lock
-- Have a replay that runs, stands at this event, and is this owner's or nobody's any more.
select 1 from replay
 where id = ?1 and state = 'running' and cursor = ?2 and replayed = ?3 and (owner = ?4 or leased_until <= ?5)

-- name: replay_note
-- Note what a slice did. What waited when it was counted may be sent again by now: the total is never less.
update replay
   set cursor = ?2, replayed = replayed + ?3, waiting = waiting + ?4, owner = ?5, next_at = ?6,
       leased_until = ?7, state = ?8, ended_at = ?9, total = max(total, replayed + ?3)
 where id = ?1

-- name: events_from
-- Read a tenant's events of a span of ids, the oldest first, with their bodies if these are asked for.
select id, tenant, type, case when ?5 then body else x'' end as body, channels, made_at, first_message, last_message,
       matched
  from event where tenant = ?1 and id > ?2 and id < ?3 order by id limit ?4

-- name: event_pair
-- Tell what there is of an event for a queue: an unfinished message, a dead one, any at all.
select exists (select 1 from message m join rung r on r.id = m.rung_id
                where m.id between ?2 and ?3 and (m.id - ?2) % 8192 = 0 and r.queue_id = ?4)
       or exists (select 1 from event_message x join message m on m.id = x.message_id
                   where x.event_id = ?1 and x.queue_id = ?4) as waiting,
       coalesce((select d.id from dead d where d.id between ?2 and ?3 and (d.id - ?2) % 8192 = 0 and d.queue_id = ?4),
                (select d.id from event_message x join dead d on d.id = x.message_id
                  where x.event_id = ?1 and x.queue_id = ?4), 0) as dead,
       exists (select 1 from history h where h.id between ?2 and ?3 and (h.id - ?2) % 8192 = 0 and h.queue_id = ?4)
       or exists (select 1 from event_message x where x.event_id = ?1 and x.queue_id = ?4) as had

-- name: event_message_insert
-- Note a message that a replay made of an event.
insert into event_message (event_id, message_id, queue_id) values (?1, ?2, ?3)

-- name: event_messages_delete
-- Forget which messages replays made of an event.
delete from event_message where event_id = ?1

-- name: replays_retain
-- Delete replays that ended before a time.
delete from replay where id in (select id from replay where ended_at > 0 and ended_at < ?1 limit ?2)
