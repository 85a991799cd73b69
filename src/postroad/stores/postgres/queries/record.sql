-- Apply results, fenced.
select postroad.record($1, $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::int[],
  $7::text::int[], $8, $9, $10, $11, $12)
