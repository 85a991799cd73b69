-- What came of tries, and what the owner of a lane notes.

-- name: record
-- Apply results, fenced by the epochs of their lanes.
select postroad.record($1, $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::int[],
  $7::text::int[], $8, $9, $10, $11, $12)

-- name: record_noted
-- The same, and add tries of webhooks to the log.
select postroad.record($1, $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::int[],
         $7::text::int[], $8, $9, $10, $11, $12),
       postroad.note_tries($13::text::bigint[], $14::text::int[], $15::text::bigint[],
         $16::text::int[], $17, $18::text::int[], $19::text::int[], $20::text::int[], $21::text::int[],
         $22, $23, $24, $25, $26)

-- name: mark
-- Note that messages are about to be tried; durable before it returns.
select postroad.mark($1, $2, $3, $4)

-- name: unmark
-- Messages were stopped without a lost lease: take the note back.
update postroad.message set marks = greatest(0, marks - 1) where id = any ($1::bigint[])

-- name: withdraw
-- Take cancelled messages out of a lane, as its owner.
select postroad.withdraw($1, $2, $3, $4)
