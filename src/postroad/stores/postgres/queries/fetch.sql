-- Due messages of rungs after their cursors.
select * from postroad.read_messages($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::int[])
