-- The partition of a day of history.
select postroad.history_day_v1($1)
