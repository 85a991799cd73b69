-- A lane and what waits in it.
select postroad.lane_facts($1)
