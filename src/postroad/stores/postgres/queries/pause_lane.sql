-- Hold a lane, or let it go on.
select postroad.pause_lane_v1($1, $2)
