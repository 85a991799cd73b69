-- An uncertain message counts as delivered, or goes back to its rung.
select postroad.settle_v1($1, $2, $3)
