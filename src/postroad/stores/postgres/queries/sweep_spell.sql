-- What has outlived a spell dies.
select postroad.sweep_spell($1, $2, $3, $4, $5, $6)
