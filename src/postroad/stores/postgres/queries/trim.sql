-- Delete a slice of the longest dead beyond so many.
select postroad.trim_v1($1, $2)
