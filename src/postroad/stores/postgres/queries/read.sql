-- What the owner of a lane reads.

-- name: look
-- The rungs of owned lanes that became ready or are named, with their queues.
select postroad.look($1::text::bigint[], $2::text::bigint[], $3, $4, $5)

-- name: fetch
-- Due messages of rungs after their cursors.
select * from postroad.read_messages($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::int[])

-- name: fetch_large
-- The same where some bodies are large: as much as one answer may hold.
select * from postroad.read_large($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::int[])
