-- The partition of a day of history.
select postroad.make_history_day($1)
