-- A process says that it is still here; answers how often its lanes were taken away, or nothing.
select postroad.beat($1, $2)
