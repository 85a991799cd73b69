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
