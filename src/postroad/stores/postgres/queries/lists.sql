-- Lists of messages.

-- name: list_scope_named
-- Read a tenant's queue by name, and its rungs.
select postroad.list_scope(array(select id from postroad.queue where tenant = $1 and name = $2), '{}')

-- name: list_scope_of
-- Read the queues of a tenant, or of all (null), with a name (else null) or a prefix, and their rungs.
select postroad.list_scope(array(
  select q.id from postroad.queue q
   where ($1::text is null or q.tenant = $1) and ($2::text is null or q.name = $2)
     and ($3 = '' or starts_with(q.name, $3))
   order by q.id limit $4), '{}')

-- name: list_names
-- Read some queues and rungs.
select postroad.list_scope($1, $2)

-- name: list_messages
-- Find messages between two ids.
select * from postroad.list_messages($1, $2, $3, $4, $5, $6, $7)

-- name: list_rows
-- Read unfinished messages.
select * from postroad.unfinished_rows($1)
