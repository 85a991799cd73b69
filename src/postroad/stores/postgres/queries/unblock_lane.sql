-- Close a lane's circuit.
select postroad.unblock_lane_v1($1)
