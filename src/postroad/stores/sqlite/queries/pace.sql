-- Rate limits: ledgers of slots, what long windows have used, who reserves.

-- name: pace_by_id
-- Read a limit by its number.
select id, cost, spacing_us, counted, next_us, spec, name, hours, zone, until from pace where id = ?1

-- name: pace_of_queue
-- Read the limit of a queue.
select id, cost, spacing_us, counted, next_us, spec, name, hours, zone, until from pace
 where queue_id = ?1 and queue_id > 0

-- name: pace_of_lane
-- Read the limit of a lane's credential.
select p.id, p.cost, p.spacing_us, p.counted, p.next_us, p.spec from lane l
  join pace p on p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
   and p.server = l.server and p.credential = l.credential and p.name = ''
 where l.id = ?1

-- name: pace_of_name
-- Read a named limit.
select id, cost, spacing_us, counted, next_us, spec from pace
 where queue_id = 0 and tenant = ?1 and transport = '' and server = '' and credential = '' and name = ?2

-- name: paces_of_lane
-- Read what limits a lane: its own limit, its credential's, which all sites share (its server is the credential's
-- name), and named ones. The slowest comes first: its rate slots are shared fairly.
select id, cost, spacing_us, counted, next_us, spec, name, hours, zone, until from (
  select p.* from lane l
    join pace p on p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
     and p.server in (l.server, l.credential) and p.credential = l.credential and p.name = ''
   where l.id = ?1
  union all
  select p.* from lane l
    join pace p on p.queue_id = 0 and p.tenant in (l.tenant, '*') and p.transport = ''
     and p.server = '' and p.credential = '' and p.name <> ''
     and (l.transport || ':' || l.server glob replace(p.lanes, '[', '[[]') or l.transport || ':' || l.server glob
       replace(replace(replace(p.lanes, '[', '[[]'), ':*.', ':'), '//*.', '//'))
   where l.id = ?1)
 where spec || hours <> '' order by spacing_us desc, id

-- name: paces_of_key
-- Read what limits a credential: its own limit, and named ones; the slowest comes first.
select id from (
  select id, spec, spacing_us from pace
   where queue_id = 0 and tenant = ?1 and transport = ?2 and server = ?3 and credential = ?4 and name = ''
  union all
  select id, spec, spacing_us from pace
   where queue_id = 0 and tenant in (?1, '*') and transport = '' and server = '' and credential = ''
     and name <> '' and (?2 || ':' || ?3 glob replace(lanes, '[', '[[]') or ?2 || ':' || ?3 glob
       replace(replace(replace(lanes, '[', '[[]'), ':*.', ':'), '//*.', '//')))
 where spec <> '' order by spacing_us desc, id

-- name: named_limits
-- List the named limits of a tenant, or of all where none is given, that have not ended.
select name, tenant, lanes, spec, cost, hours, zone, until from pace
 where queue_id = 0 and name <> '' and (?1 is null or tenant = ?1) and spec || hours <> ''
   and (until = 0 or until > ?2)
 order by tenant, name

-- name: named_lanes
-- List the owned lanes that a named limit is for.
select l.id from pace p join lane l on p.tenant in (l.tenant, '*')
   and (l.transport || ':' || l.server glob replace(p.lanes, '[', '[[]') or l.transport || ':' || l.server glob
       replace(replace(replace(p.lanes, '[', '[[]'), ':*.', ':'), '//*.', '//'))
 where p.id = ?1 and l.owner is not null

-- name: pace_insert_queue
-- Insert the first limit of a queue.
insert into pace (queue_id, spec, cost, spacing_us) values (?1, '', 1, 0)

-- name: pace_insert_lane
-- Insert the first limit of a lane's credential.
insert into pace (tenant, transport, server, credential, spec, cost, spacing_us)
select tenant, transport, server, credential, '', 1, 0 from lane where id = ?1

-- name: pace_insert_name
-- Insert a named limit.
insert into pace (tenant, name, lanes, spec, cost, spacing_us) values (?1, ?2, '*', '', 1, 0)

-- name: pace_change
-- Change a limit.
update pace set spec = ?2, cost = ?3, spacing_us = ?4, counted = ?5, hours = ?6, zone = ?7, next_us = ?8
 where id = ?1

-- name: pace_place
-- Set which lanes a named limit is for, and when it ends.
update pace set lanes = ?2, until = ?3 where id = ?1

-- name: named_ended
-- List named limits that were lifted or have ended, more than two minutes ago.
select id from pace
 where queue_id = 0 and name <> '' and next_us < (?1 - 120000) * 1000
   and (spec || hours = '' or (until > 0 and until < ?1 - 120000))

-- name: pace_next
-- Note up to when a ledger's slots are taken.
update pace set next_us = ?2 where id = ?1

-- name: pace_drop
-- Delete a ledger.
delete from pace where id = ?1

-- name: pace_counts
-- Read what a ledger's long windows have used.
select length_us, bucket, used from pace_count where ledger = ?1

-- name: pace_count_set
-- Write what a bucket of a long window has used.
insert into pace_count (ledger, length_us, bucket, used) values (?1, ?2, ?3, ?4)
on conflict do update set used = excluded.used

-- name: pace_count_drop
-- Delete a bucket that no window includes any more.
delete from pace_count where ledger = ?1 and length_us = ?2 and bucket = ?3

-- name: pace_counts_drop
-- Delete all buckets of a ledger.
delete from pace_count where ledger = ?1

-- name: pace_shares
-- List who reserves on a ledger.
select name, taken, seen_us, again_us from pace_share where ledger = ?1

-- name: pace_share_set
-- Write what one who reserves on a ledger has taken.
insert into pace_share (ledger, name, taken, seen_us, again_us) values (?1, ?2, ?3, ?4, ?5)
on conflict do update set taken = excluded.taken, seen_us = excluded.seen_us, again_us = excluded.again_us

-- name: pace_shares_drop
-- Delete those who have not reserved on a ledger since a time.
delete from pace_share where ledger = ?1 and max(seen_us, again_us) < ?2
