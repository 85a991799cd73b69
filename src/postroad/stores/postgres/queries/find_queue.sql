-- A queue by its owner and name.
select postroad.find_queue_v1($1, $2)
