-- Take slots, or hear when to ask again.
select postroad.reserve_v1($1)
