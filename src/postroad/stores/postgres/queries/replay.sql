-- Put the dead that are meant back on their rungs.
select postroad.replay($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
