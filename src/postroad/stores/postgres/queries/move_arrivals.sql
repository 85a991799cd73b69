-- Arrivals find their rungs.
select postroad.move_arrivals_v1($1)
