-- The same where some bodies are large: as much as one answer may hold.
select * from postroad.fetch_v1($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::int[])
