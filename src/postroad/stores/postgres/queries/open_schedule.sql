-- The schedule of a name as it is stored; a new one is decided up to now.
select postroad.open_schedule($1, $2, $3)
