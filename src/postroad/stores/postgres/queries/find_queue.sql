-- A queue by its owner and name.
select postroad.find_queue($1, $2)
