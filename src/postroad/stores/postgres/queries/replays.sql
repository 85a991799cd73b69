-- Replays are jobs that send again what failed, what a window held, or what an endpoint missed.

-- name: replay_insert
-- Store a new replay, unless its tenant has so many that have not ended; answers its number.
insert into postroad.replay (id, tenant, queue, spec, state, asked_at, cursor, total)
select $1::bigint, $2::text, $3::text, $4::bytea, $5::text, $6::bigint, $7::bigint, $8::bigint
 where (select count(*) from postroad.replay where tenant = $2 and state in ('running', 'paused')) < $9
returning id

-- name: replay_page
-- List replays of a tenant, the newest first; or one of them.
select id, tenant, queue, spec, state, reason, asked_at, ended_at, cursor, total, replayed, waiting, owner, leased_until,
       next_at
  from postroad.replay where tenant = $1 and ($2::bigint = 0 or id = $2) and id < $3 order by id desc limit $4

-- name: replays_running
-- List the replays that are due first.
select id, tenant, queue, spec, state, reason, asked_at, ended_at, cursor, total, replayed, waiting, owner, leased_until,
       next_at
  from postroad.replay where state = 'running' order by next_at, id limit 100

-- name: replay_turn
-- Change the state of a replay that has not ended.
update postroad.replay set state = $3, reason = $4, ended_at = $5, leased_until = 0
 where tenant = $1 and id = $2 and state in ('running', 'paused') returning 1

-- name: replays_end
-- End the replays of a queue that have not ended.
update postroad.replay set state = 'cancelled', reason = $3, ended_at = $4, leased_until = 0
 where tenant = $1 and queue = $2 and state in ('running', 'paused')

-- name: replay_lock
-- Have a replay that runs, stands at this event, and is this owner's or nobody's any more.
select 1 from postroad.replay
 where id = $1 and state = 'running' and cursor = $2 and replayed = $3 and (owner = $4 or leased_until <= $5)
 for update

-- name: replay_note
-- Note what a slice did. What waited when it was counted may be sent again by now: the total is never less.
update postroad.replay
   set cursor = $2, replayed = replayed + $3, waiting = waiting + $4, owner = $5, next_at = $6,
       leased_until = $7, state = $8, ended_at = $9, total = greatest(total, replayed + $3)
 where id = $1 returning 1

-- name: events_from
-- Read a tenant's events of a span of ids, the oldest first, with their bodies if these are asked for.
select id, tenant, type, case when $5 then body else ''::bytea end as body, channels, made_at, first_message, last_message,
       matched
  from postroad.event where tenant = $1 and id > $2 and id < $3 order by id limit $4

-- name: event_pairs
-- Tell what there is of events for queues: an unfinished message, a dead one, any at all.
select exists (select from postroad.message m join postroad.rung r on r.id = m.rung_id
                where m.id between p.first and p.last and (m.id - p.first) % 8192 = 0 and r.queue_id = p.queue)
       or exists (select from postroad.event_message x join postroad.message m on m.id = x.message_id
                   where x.event_id = p.event and x.queue_id = p.queue) as waiting,
       coalesce((select d.id from postroad.dead d
                  where d.id between p.first and p.last and (d.id - p.first) % 8192 = 0 and d.queue_id = p.queue limit 1),
                (select d.id from postroad.event_message x join postroad.dead d on d.id = x.message_id
                  where x.event_id = p.event and x.queue_id = p.queue limit 1), 0) as dead,
       exists (select from postroad.event_message x where x.event_id = p.event and x.queue_id = p.queue)
       or exists (select from postroad.finished(array(select generate_series(p.first, p.last, 8192))) h
                   where h.queue_id = p.queue) as had
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality as p(event, first, last, queue, n)
 order by p.n

-- name: event_messages_insert
-- Note the messages that a replay made of events.
insert into postroad.event_message (event_id, message_id, queue_id)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[])

-- name: replays_alone
-- Let no other replay of the tenant in.
select pg_advisory_xact_lock(1383031143, hashtext($1))

-- name: replays_share
-- Share the set of a tenant's endpoints, and let no other replay of the tenant in.
select pg_advisory_xact_lock_shared(1383031142, hashtext($1)), pg_advisory_xact_lock(1383031143, hashtext($1))
