-- How much a tenant has.

-- name: has_queues
-- Count a tenant's queues, up to a number.
select count(*) from (select 1 from queue where tenant = ?1 limit ?2)

-- name: has_lanes
-- Count a tenant's lanes, up to a number.
select count(*) from (select 1 from lane where tenant = ?1 limit ?2)

-- name: has_mailboxes
-- Count a tenant's mailboxes, up to a number.
select count(*) from (select 1 from mailbox where tenant = ?1 limit ?2)

-- name: has_campaigns
-- Count a tenant's campaigns, up to a number.
select count(*) from (select 1 from campaign where tenant = ?1 limit ?2)

-- name: has_imports
-- Count a tenant's imports that are under way, up to a number.
select count(*) from (
  select 1 from campaign_import i join campaign c on c.id = i.campaign_id where c.tenant = ?1 limit ?2)

-- name: has_timetables
-- Count a tenant's timetables that were made at run time, up to a number.
select count(*) from (select 1 from schedule where tenant = ?1 and origin = 'made' limit ?2)

-- name: stored
-- Count the next messages in order of id by tenant, with their bytes, the last id and the tenant's own limits.
select q.tenant, count(*), sum(m.size), max(m.id), (select limits from tenant where name = q.tenant)
  from (select id, rung_id, length(body) + length(headers) as size from message
         where id > ?1 order by id limit ?2) m
  join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 group by q.tenant

-- name: has_endpoints
-- Count a tenant's endpoints, up to a number.
select count(*) from (select 1 from endpoint where tenant = ?1 limit ?2)

-- name: has_waiting
-- Count a tenant's messages that are not finished, up to a number.
select count(*) from (
  select 1 from queue q join rung r on r.queue_id = q.id join message m on m.rung_id = r.id where q.tenant = ?1 limit ?2)

-- name: has_letters
-- Count the messages in a tenant's mailboxes, up to a number.
select count(*) from (select 1 from mailbox b join letter l on l.mailbox = b.number where b.tenant = ?1 limit ?2)

-- name: has_live_campaigns
-- Count a tenant's campaigns that are scheduled or run, up to a number.
select count(*) from (
  select 1 from campaign where state in ('scheduled', 'running') and tenant = ?1 limit ?2)

-- name: has_attachments_bytes
-- Add up the attachments of a tenant, up to a number.
select min(coalesce(sum(size), 0), ?2) from blob where tenant = ?1
