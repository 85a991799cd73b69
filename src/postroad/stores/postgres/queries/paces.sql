-- The limits of a queue and of a lane, and how far they are used.
select postroad.paces($1, $2)
