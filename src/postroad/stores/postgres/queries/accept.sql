-- Store drafts; answers which keys were used before, and who is to know.
select postroad.accept($1, $2, $3, $4, $5, $6, $7::text::bigint[], $8::text::int[], $9, $10::text::bigint[],
  $11::text::bigint[], $12, $13, $14, $15, $16, $17, $18)
