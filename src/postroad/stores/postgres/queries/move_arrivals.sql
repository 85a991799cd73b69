-- Arrivals find their rungs.
select postroad.move_arrivals($1)
