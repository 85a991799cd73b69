-- Due messages of rungs after their cursors.
select * from postroad.fetch_v2($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::int[])
