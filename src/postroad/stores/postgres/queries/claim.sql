-- Own lanes that are ready at these levels; answers them, and when the next ones are.
select postroad.claim_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)
