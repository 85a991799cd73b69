-- The owner of a lane takes messages out of it.
select postroad.withdraw_v2($1, $2, $3, $4)
