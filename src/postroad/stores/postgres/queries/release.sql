-- Give lanes back.
select postroad.release($1, $2::text::bigint[], $3::text::bigint[], $4)
