-- A process says that it is still here; answers how often its lanes were taken away, or nothing.
select postroad.beat_v1($1, $2)
