-- Hold a lane, or let it go on.
select postroad.pause_lane($1, $2)
