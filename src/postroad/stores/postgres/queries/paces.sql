-- The limits of a queue and of a lane, and how far they are used.
select postroad.paces_v1($1, $2)
