-- A lane and what waits in it.
select postroad.lane_facts_v1($1)
