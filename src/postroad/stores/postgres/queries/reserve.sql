-- Take slots, or hear when to ask again.
select postroad.reserve($1)
