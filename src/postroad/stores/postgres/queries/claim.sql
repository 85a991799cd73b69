-- Own lanes that are ready at these levels; answers them with their first messages, and when the next ones are.
select * from postroad.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
