-- Close a lane's circuit.
select postroad.unblock_lane($1)
