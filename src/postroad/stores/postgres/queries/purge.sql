-- Delete the dead that are meant.
select postroad.purge($1, $2, $3, $4, $5, $6, $7, $8, $9)
