-- What a road that was restored from a backup would send again, and its hold.

-- name: restoration
-- Read whether this road was restored, and is held.
select backup_at, held_at, reason from postroad.restoration where id = 1

-- name: restoration_put
-- Hold the road.
insert into postroad.restoration (id, backup_at, held_at, reason) values (1, $1, $2, $3)
on conflict (id) do update set backup_at = excluded.backup_at, held_at = excluded.held_at, reason = excluded.reason

-- name: restoration_end
-- Forget it, with its hold.
delete from postroad.restoration

-- name: restoration_told
-- Forget it, since the road runs; a hold that has come meanwhile stays.
delete from postroad.restoration where id = 1 and held_at = 0

-- name: restored_running
-- Count the processes that run it: those that were heard from since a time.
select count(*) from postroad.process where beat_at > $1

-- name: restored_seen_at
-- Read when the road was last at work: a sign of life, or the id of its newest message.
select greatest(coalesce((select max(beat_at) from postroad.process), 0),
                coalesce((select (max(id) >> 22) + 1704067200000 from postroad.message), 0))

-- name: restored_totals
-- Count what would be sent: messages that are due and later ones, recipients of campaigns, letters in mailboxes, ticks
-- that are due, replays.
select (select count(*) from postroad.message where due <= $1) + (select count(*) from postroad.arrival where due <= $1),
       (select count(*) from postroad.message where due > $1) + (select count(*) from postroad.arrival where due > $1),
       (select coalesce(sum(total - sent - failed - uncertain - suppressed), 0)::bigint from postroad.campaign
         where state in ('scheduled', 'running')),
       (select count(*) from postroad.letter where expires_at > $1),
       (select count(*) from postroad.schedule where not paused),
       (select count(*) from postroad.replay where state = 'running')

-- name: restored_queues
-- List the queues with most messages that are due, and since when the first of each is.
select q.tenant, q.name, count(*) filter (where m.due <= $1), count(*) filter (where m.due > $1), min(m.due)
  from (select r.queue_id, y.due from postroad.message y join postroad.rung r on r.id = y.rung_id
        union all select queue_id, due from postroad.arrival) m join postroad.queue q on q.id = m.queue_id
 group by q.id order by 3 desc, q.tenant, q.name limit $2
