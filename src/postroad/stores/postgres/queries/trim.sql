-- Delete a slice of the longest dead beyond so many.
select postroad.trim_dead($1, $2)
