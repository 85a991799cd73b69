-- What each tenant has, for its limits.

-- name: has_campaigns
-- How many campaigns a tenant has, up to a number.
select count(*) from (select from postroad.campaign where tenant = $1 limit $2) x

-- name: has_imports
-- How many imports of a tenant are under way, up to a number.
select count(*) from (
  select from postroad.campaign_import i join postroad.campaign c on c.id = i.campaign_id
   where c.tenant = $1 limit $2) x

-- name: has_lanes
-- How many lanes a tenant has, up to a number.
select count(*) from (select from postroad.lane where tenant = $1 limit $2) x

-- name: has_mailboxes
-- How many mailboxes a tenant has, up to a number.
select count(*) from (select from postroad.mailbox where tenant = $1 limit $2) x

-- name: has_queues
-- How many queues a tenant has, up to a number.
select count(*) from (select from postroad.queue where tenant = $1 limit $2) x

-- name: has_timetables
-- How many timetables that were made at run time a tenant has, up to a number.
select count(*) from (select from postroad.schedule where tenant = $1 and origin = 'made' limit $2) x

-- name: stored
-- The next messages in order of id, by tenant: how many, how many bytes, the last one, and the tenant's own limits.
select q.tenant, count(*) as n, sum(m.size)::bigint as bytes, max(m.id) as last,
       (select t.limits from postroad.tenant t where t.name = q.tenant) as own
  from (select id, rung_id, octet_length(body) + octet_length(headers) as size from postroad.message
         where id > $1 order by id limit $2) m
  join postroad.rung r on r.id = m.rung_id join postroad.queue q on q.id = r.queue_id
 group by q.tenant

-- name: has_endpoints
-- How many endpoints a tenant has, up to a number.
select count(*) from (select from postroad.endpoint where tenant = $1 limit $2) x

-- name: has_waiting
-- How many messages of a tenant are not finished, up to a number.
select count(*) from (
  select from postroad.queue q join postroad.rung r on r.queue_id = q.id join postroad.message m on m.rung_id = r.id
   where q.tenant = $1 limit $2) x

-- name: has_letters
-- How many messages are in a tenant's mailboxes, up to a number.
select count(*) from (
  select from postroad.mailbox b join postroad.letter l on l.mailbox = b.number where b.tenant = $1 limit $2) x

-- name: has_live_campaigns
-- How many campaigns of a tenant are scheduled or run, up to a number.
select count(*) from (
  select from postroad.campaign where state in ('scheduled', 'running') and tenant = $1 limit $2) x

-- name: has_attachments_bytes
-- Add up the attachments of a tenant, up to a number.
select least(coalesce(sum(size), 0), $2::bigint)::bigint from postroad.blob where tenant = $1
