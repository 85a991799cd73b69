-- The part of history that a day goes to, made when it is new.
select postroad.make_history_day($1)
