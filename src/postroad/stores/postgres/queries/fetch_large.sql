-- The same where some bodies are large: as much as one answer may hold.
select * from postroad.read_large($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::int[])
