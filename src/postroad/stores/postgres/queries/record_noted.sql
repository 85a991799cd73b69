-- Apply results, fenced, and keep what was seen of their tries.
select postroad.record($1, $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::int[],
         $7::text::int[], $8, $9, $10, $11, $12),
       postroad.note_tries($13::text::bigint[], $14::text::int[], $15::text::bigint[],
         $16::text::int[], $17, $18::text::int[], $19::text::int[], $20::text::int[], $21, $22, $23,
         $24, $25)
