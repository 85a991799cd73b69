-- What a road that was restored from a backup would send again, and its hold.

-- name: restoration
-- Read whether this road was restored, and is held.
select backup_at, held_at, reason from restoration where id = 1

-- name: restoration_put
-- Note when a backup was made, or hold the road.
insert into restoration (id, backup_at, held_at, reason) values (1, ?1, ?2, ?3)
on conflict (id) do update set backup_at = excluded.backup_at, held_at = excluded.held_at, reason = excluded.reason

-- name: restoration_end
-- Forget it, with its hold.
delete from restoration

-- name: restoration_told
-- Forget it, since the road runs; a hold that has come meanwhile stays.
delete from restoration where id = 1 and held_at = 0

-- name: restored_running
-- Count the processes that run it. The lock proves that there are none.
select 0 where ?1 is not null

-- name: restored_seen_at
-- Read when the road was last at work: a sign of life, or the id of its newest message.
select max(coalesce((select max(beat_at) from process), 0),
           coalesce((select (max(id) >> 22) + 1704067200000 from message), 0))

-- name: restored_totals
-- Count what would be sent: messages that are due and later ones, recipients of campaigns, letters in mailboxes, ticks
-- that are due, replays.
select (select count(*) from message where due <= ?1), (select count(*) from message where due > ?1),
       (select coalesce(sum(total - sent - failed - uncertain - suppressed), 0) from campaign
         where state in ('scheduled', 'running')),
       (select count(*) from letter where expires_at > ?1),
       (select count(*) from schedule where paused = 0),
       (select count(*) from replay where state = 'running')

-- name: restored_queues
-- List the queues with most messages that are due, and since when the first of each is.
select q.tenant, q.name, sum(m.due <= ?1), sum(m.due > ?1), min(m.due)
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 group by q.id order by 3 desc, q.tenant, q.name limit ?2
