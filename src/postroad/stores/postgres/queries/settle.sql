-- An uncertain message counts as delivered, or goes back to its rung.
select postroad.settle($1, $2, $3)
