-- Give lanes back.
select postroad.release_v1($1, $2, $3, $4)
