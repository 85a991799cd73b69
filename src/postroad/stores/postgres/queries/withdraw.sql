-- The owner of a lane takes messages out of it.
select postroad.withdraw_v1($1, $2, $3, $4)
