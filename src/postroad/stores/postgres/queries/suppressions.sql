-- Suppression lists. Letters of ASCII are compared in lower case, the others as they are.

-- name: suppression_add
-- Add entries from a JSON list, unless they are there for the same reason.
insert into postroad.suppression (tenant, address, recipient, reason, at, campaign, message, note)
select value ->> 0, lower((value ->> 1) collate "C"), value ->> 1, value ->> 2, (value ->> 3)::bigint, value ->> 4, value ->> 5,
       value ->> 6
  from json_array_elements($1::json) as r(value)
on conflict do nothing returning 1

-- name: suppression_match
-- Find those of some recipients (JSON) that are on a tenant's list, or on that of all.
select recipient, reason from postroad.suppressed($1, $2)

-- name: suppression_page
-- Read entries of a list, the newest first, for one reason or for all.
select tenant, recipient, reason, at, campaign, message, note, id from postroad.suppression
 where tenant = $1 and id < $2 and ($3 = '' or reason = $3) order by id desc limit $4

-- name: suppression_of
-- Read a recipient's entries on a list, the newest first, for one reason or for all.
select tenant, recipient, reason, at, campaign, message, note, id from postroad.suppression
 where address in (lower($5 collate "C"), $6) and tenant = $1 and id < $2 and ($3 = '' or reason = $3)
 order by id desc limit $4

-- name: suppression_remove
-- Take a recipient off a list, for one reason or for all.
delete from postroad.suppression
 where address in (lower($2 collate "C"), $3) and tenant = $1 and ($4 = '' or reason = $4) returning 1

-- name: report_add
-- Note what was reported about a message, unless it is known or there are a hundred of them. That it was delivered counts
-- only after soft bounces.
insert into postroad.mail_report (tenant, message, address, kind, mark, code, note, at)
select $1, $2::bigint, $3, $4, $5, $6, $7, $8::bigint
 where ($4::text <> 'delivered'
        or exists (select 1 from postroad.mail_report where address = $3 and tenant = $1 and kind = 'soft_bounce'))
   and (select count(*) from (select 1 from postroad.mail_report where message = $2::bigint limit 100) x) < 100
on conflict do nothing returning 1

-- name: reports_of
-- Read what was reported about a message, in order.
select kind, at, code, note from postroad.mail_report where message = $1 order by id

-- name: report_soft_bounces
-- Count a recipient's soft bounces since a time and since its last delivery, and the messages that they are about; of the
-- newest thousand.
select count(*), count(distinct message) from (
  select message, at from postroad.mail_report
   where address = $2 and tenant = $1 and kind = 'soft_bounce'
     and id > coalesce((select max(id) from postroad.mail_report where address = $2 and tenant = $1 and kind = 'delivered'), 0)
   order by id desc limit 1000) x
 where at >= $3

-- name: reports_retain
-- Delete a slice of the reports from before a time, the oldest first.
delete from postroad.mail_report where id in (select id from postroad.mail_report order by id limit $2) and at < $1 returning 1

-- name: token_take
-- Note a callback's token with the digest of its body, unless it is known.
insert into postroad.callback_token (token, digest, at) values ($1, $2, $3) on conflict do nothing returning 1

-- name: token_is
-- Whether a token came with this digest.
select 1 from postroad.callback_token where token = $1 and digest = $2

-- name: tokens_retain
-- Delete a slice of the tokens from before a time.
delete from postroad.callback_token where token in (select token from postroad.callback_token where at < $1 order by at limit $2) returning 1
