-- A lane's levels are gone.
delete from lane_level where lane_id = ?1
