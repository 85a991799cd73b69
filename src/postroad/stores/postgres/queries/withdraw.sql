-- The owner of a lane takes messages out of it.
select postroad.withdraw($1, $2, $3, $4)
