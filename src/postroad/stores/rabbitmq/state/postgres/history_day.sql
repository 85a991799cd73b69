-- The part of history that a day goes to, made when it is new.
select postroad.history_day_v1($1)
