-- Give lanes back.
select postroad.release_v1($1, $2::text::bigint[], $3::text::bigint[], $4)
